"""Rewrites a Python example without changing what it does: other layout, other names, a helper more."""

import ast

import black


def blackened(text: str) -> str:
    """The layout that black gives it."""
    return black.format_str(text, mode=black.Mode())


def unparsed(text: str) -> str:
    """One statement a line, however long; no comments, other quotes."""
    return ast.unparse(ast.parse(text))


def renamed(text: str) -> str:
    """Every parameter, variable, constant and function of the module under another name; fields, methods and imported
    names keep theirs."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    functions = {node.name for node in _unowned(tree)}
    new = {name: f"v{at}" for at, name in enumerate(sorted((names | functions) - {"self"}))}
    for node in nodes:
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = new.get(node.arg, node.arg)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            for keyword in node.keywords:
                keyword.arg = new.get(keyword.arg or "", keyword.arg)
    for function in _unowned(tree):
        function.name = new[function.name]
    return ast.unparse(tree)


def _unowned(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions that are no methods."""
    methods = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for inner in node.body}
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds) and id(node) not in methods]


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
