"""Words that redaction keeps, because they say what a value is and nothing of anybody: labels, and calendars.

They are kept only right before a value that moves (prefix.volatile) or inside of it. Calendars: the languages that
prefix.volatile.moments reads.
"""

from typing import Final

LABELS: Final = frozenset(
    "now current today date time datetime timestamp day weekday clock is it the id ids uuid generated started "
    "session request req resp response message msg trace span run thread conversation conv chat chatcmpl call job "
    "event tool toolu batch correlation cwd pwd working directory dir workspace root path project folder host "
    "hostname pod node worker server machine instance container pid rank replica build commit branch git head "
    "status turn step attempt round iteration query token tokens credits requests messages turns steps calls "
    "context budget left remaining used so far of out x anthropic billing attribution header object at tmp "
    "temp".split()
)
CALENDAR: Final = frozenset(
    "jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july august september "
    "october november december mon tue tues wed thu thurs fri sat sun monday tuesday wednesday thursday friday "
    "saturday sunday januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag "
    "samstag sonntag janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi "
    "mercredi jeudi vendredi samedi dimanche enero febrero marzo abril mayo junio julio agosto septiembre octubre "
    "noviembre diciembre lunes martes miércoles jueves viernes sábado domingo gennaio febbraio aprile maggio giugno "
    "luglio settembre ottobre dicembre lunedì martedì mercoledì giovedì venerdì sabato domenica t z am pm a p m utc "
    "gmt cet cest est edt cst cdt mst mdt pst pdt ist jst kst bst uhr h d s ms st nd rd th on um kl w of de".split()
) | frozenset("年月日號号時时分秒星期周週一二三四五六天曜火水木金土년월일요화수목금토")
