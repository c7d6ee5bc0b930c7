"""What a CPU-only SGLang needs and PyPI has no CPU build of. Python imports this by itself in every engine process.

1. The engine dies with the process that started it (run.py, pytest), even when that one is killed with SIGKILL.
2. `triton`: SGLang imports it everywhere and launches none of its kernels on the torch_native path. The stand-in is built
   from the mock classes in SGLang's own sglang/_platform_stubs.py, which SGLang ships for Apple's GPUs.
3. torchvision's wheel is linked to CUDA, so its operators are missing beside a CPU torch; they are declared here.
`sgl_kernel`, the fourth, is the package next to this file. SGLang's own files stay as they are.
"""

import ctypes
import importlib.machinery
import importlib.util
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends; SGLang does the same for its own children.

    The variable is taken away so that children, whose parent is this process, do not look at it. The parent may have
    died before we asked: then nobody is left to kill us.
    """
    parent = os.environ.pop("PREFIXGATE_ENGINE_PARENT", None)
    if parent is None:
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        os._exit(1)


def stub_triton() -> None:
    """Put a pretend `triton` in sys.modules, unless a real one is installed."""
    find = importlib.machinery.PathFinder.find_spec
    sglang = find("sglang")
    if sglang is None or find("triton") is not None:
        return
    path = Path(sglang.origin).with_name("_platform_stubs.py")
    spec = importlib.util.spec_from_file_location("sglang_platform_stubs", path)
    stubs = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = stubs
    spec.loader.exec_module(stubs)
    sys.meta_path.insert(0, stubs._TritonFinder())

    def add(name: str, **attributes: object) -> None:
        module = stubs._make_mock(name)
        vars(module).update(attributes)
        parent, _, leaf = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], leaf, module)

    def kind(name: str, *bases: type) -> type:
        return type(name, bases or (stubs._StubBase,), {})

    def keep_value(self: object, value: object = None) -> None:
        self.value = value

    add(
        "triton",
        __version__="3.0.0",
        cdiv=stubs._cdiv,
        next_power_of_2=stubs._next_power_of_2,
        Config=stubs._Config,
    )
    add("triton.language", constexpr=type("constexpr", (), {"__init__": keep_value}))
    add("triton.runtime")
    add("triton.runtime.jit", JITFunction=kind("JITFunction"), KernelInterface=kind("KernelInterface"))
    add("triton.runtime.cache", triton_key=stubs._triton_key)
    add(
        "triton.runtime.autotuner",
        OutOfResources=kind("OutOfResources", Exception),
        PTXASError=kind("PTXASError", Exception),
        Autotuner=kind("Autotuner"),
        Heuristics=kind("Heuristics"),
    )
    add("triton.compiler", CompiledKernel=kind("CompiledKernel"))
    add("triton.compiler.compiler", ASTSource=kind("ASTSource"), triton_key=stubs._triton_key)
    add("triton.backends")
    add("triton.backends.compiler", GPUTarget=kind("GPUTarget"))
    for name in ("language.extra", "language.extra.libdevice", "runtime.driver", "testing", "tools"):
        add("triton." + name)
    add("triton.tools.tensor_descriptor")


class TorchvisionOperators:
    """An import hook that declares torchvision's compiled operators right before torchvision looks for them."""

    library = None

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname != "torchvision" or self.library is not None:
            return
        import torch

        self.library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            self.library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


die_with_parent()
if not any("resource_tracker" in argument for argument in sys.orig_argv):
    stub_triton()
    sys.meta_path.insert(0, TorchvisionOperators())
