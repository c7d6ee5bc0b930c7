"""Text of one user, tenant or session stands before text that all could share."""

from lint.examples import HANDBOOK, asked, chat, log
from lint.rule import Rule
from lint.sources.examples import app, prompt_file, template
from lint.sources.flow import uses
from lint.traffic.checks import losses

_NAMES = ("Ada", "Grace", "Edsger", "Barbara")

RULE = Rule(
    code="PC104",
    name="user-text-before-static",
    severity="error",
    summary="Text of one user, tenant or session stands before text that all could share.",
    why=(
        "The prompts of two users part at the first word that is one user's own. What is the same for "
        "everyone and stands behind it is computed again for each of them."
    ),
    instead=("Write what is the same for everyone first, and what is known of the user last: in the newest message."),
    since="0.1.0",
    fix="unsafe",
    checks=(uses("user", besides=("tools",)), losses("user_text", severity="error")),
    bad=(
        app("f'You help {user.name}. {POLICY}'"),
        app("head + POLICY", setup="head = 'Customer: ' + user['email'] + '\\n'"),
        template("You talk with {{ user.name }} ({{ user.email }})."),
        prompt_file("Customer: {customer_name}"),
        asked(*(f"The customer is called {name}.\n{HANDBOOK}" for name in _NAMES)),
        asked(*(f"You are talking with {name}, who is new here.\n{HANDBOOK}" for name in _NAMES)),
        asked(*(f"Sie helfen der Kundin {name}.\n{HANDBOOK}" for name in _NAMES)),
    ),
    good=(
        app("POLICY", user="f'[{user.name}] {q}'"),
        app("POLICY + f'You help {user.name}.'"),
        template("Be brief.", "Customer: {{ user.name }}"),
        prompt_file("Be brief.", "{customer_name}: {question}"),
        asked(*[f"The customer is called Ada.\n{HANDBOOK}"] * 4),
        asked(*(f"{HANDBOOK}\nThe customer is called {name}." for name in _NAMES)),
        log(*(chat(HANDBOOK, f"My name is {name}.") for name in _NAMES)),
    ),
)
