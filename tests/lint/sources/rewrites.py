"""Rewrites a Python example without changing what it does: other layout, other names, a helper more."""

import ast


def reformatted(text: str) -> str:
    """Another layout of the same program."""
    return ast.unparse(ast.parse(text))


def renamed(text: str) -> str:
    """Every parameter and variable under another name; functions and imported names keep theirs."""
    tree = ast.parse(text)
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    stored |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names = {name: f"v{at}" for at, name in enumerate(sorted(stored - {"self"}))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
    return ast.unparse(tree)


def with_call_extracted(text: str) -> str:
    """The call of the client moved into a helper of the module, which gets its arguments as parameters."""
    tree = ast.parse(text)
    site = next(node for node in ast.walk(tree) if isinstance(node, ast.Return) and isinstance(node.value, ast.Call))
    call = site.value
    assert isinstance(call, ast.Call)
    keywords = [keyword for keyword in call.keywords if keyword.arg]
    helper = ast.parse("def send(client): return None").body[0]
    assert isinstance(helper, ast.FunctionDef)
    helper.args.args += [ast.arg(arg=f"given_{keyword.arg}") for keyword in keywords]
    passed = [ast.keyword(arg=k.arg, value=ast.Name(id=f"given_{k.arg}", ctx=ast.Load())) for k in keywords]
    helper.body = [ast.Return(value=ast.Call(func=call.func, args=[], keywords=passed))]
    given = [ast.Name(id="client", ctx=ast.Load()), *(keyword.value for keyword in keywords)]
    site.value = ast.Call(func=ast.Name(id="send", ctx=ast.Load()), args=given, keywords=[])
    tree.body.append(helper)
    return ast.unparse(ast.fix_missing_locations(tree))


def with_prompt_extracted(text: str) -> str:
    """The expression of the messages moved into a helper, which gets the names it uses as parameters."""
    tree = ast.parse(text)
    keyword = next(node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "messages")
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    bound = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    bound |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    used = sorted({n.id for n in ast.walk(keyword.value) if isinstance(n, ast.Name)} & bound)
    helper = ast.parse(f"def build({', '.join(used)}): return None").body[0]
    assert isinstance(helper, ast.FunctionDef)
    helper.body = [ast.Return(value=keyword.value)]
    keyword.value = ast.Call(
        func=ast.Name(id="build", ctx=ast.Load()),
        args=[ast.Name(id=name, ctx=ast.Load()) for name in used],
        keywords=[],
    )
    tree.body.append(helper)
    return ast.unparse(ast.fix_missing_locations(tree))
