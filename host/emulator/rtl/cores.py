"""The cores that can be simulated: the package with the sources of each, the files that are needed, and the settings.

No source of a core is in this repository. The packages are wheels of the Python package index, of which nothing is
installed or run.
"""

from __future__ import annotations

from dataclasses import dataclass

from arenite.errors import ProfileError
from arenite.models.manifest import Package


@dataclass(frozen=True)
class RtlCore:
    """A core and its configuration.

    Attributes:
        name: the name in the profile of a board.
        title: the core and its configuration, for reports.
        package: the wheel with the sources.
        variable: the name of a variable of the environment with the path of a wheel that was downloaded before.
        folders: the folders of the wheel that the simulator needs.
        include: the folders of included files.
        sources: the SystemVerilog files, in the order of compilation.
        top: the file of ``testbench/`` that connects the core to the memories.
        defines: macros of ``top`` and their values.
    """

    name: str
    title: str
    package: Package
    variable: str
    folders: tuple[str, ...]
    include: tuple[str, ...]
    sources: tuple[str, ...]
    top: str
    defines: tuple[tuple[str, str], ...] = ()


_ANY_PYTHON = ("--only-binary=:all:", "--platform=any", "--python-version=3.11")

_CV32E40P = Package(
    name="pythondata-cpu-cv32e40p",
    version="1.0.1.post1909",
    sha256="424a04b65d854903ada62feb94a78346e60dc84c5487ed1f32405666eee6f8c3",
    bytes=1905022,
    licence="SHL-0.51 AND Apache-2.0 WITH SHL-2.1",
    url="https://pypi.org/project/pythondata-cpu-cv32e40p/1.0.1.post1909/",
    pip=_ANY_PYTHON,
)
_IBEX = Package(
    name="pythondata-cpu-ibex",
    version="0.0.post2937",
    sha256="bcb32ffccc75097248a11b3e52031eca92d21c6c6161a29151c8c79d6157e1c9",
    bytes=10267011,
    licence="Apache-2.0",
    url="https://pypi.org/project/pythondata-cpu-ibex/0.0.post2937/",
    pip=_ANY_PYTHON,
)

_CV32E40P_RTL = "pythondata_cpu_cv32e40p/system_verilog/rtl"
_IBEX_ROOT = "pythondata_cpu_ibex/system_verilog"
_IBEX_PRIMITIVES = f"{_IBEX_ROOT}/vendor/lowrisc_ip/ip/prim/rtl"
_IBEX_UTILITIES = f"{_IBEX_ROOT}/vendor/lowrisc_ip/dv/sv/dv_utils"

_CV32E40P_PACKAGES = ("apu_core_pkg", "fpu_pkg", "pkg")
_CV32E40P_MODULES = (
    *("if_stage", "cs_registers", "register_file_ff", "load_store_unit", "id_stage", "aligner", "decoder"),
    *("compressed_decoder", "fifo", "prefetch_buffer", "hwloop_regs", "mult", "int_controller", "ex_stage"),
    *("alu_div", "alu", "ff_one", "popcnt", "apu_disp", "controller", "obi_interface", "prefetch_controller"),
    *("sleep_unit", "core", "top"),
)
_IBEX_MODULES = (
    *("alu", "compressed_decoder", "controller", "counter", "csr", "cs_registers", "decoder", "ex_block"),
    *("id_stage", "if_stage", "wb_stage", "load_store_unit", "multdiv_slow", "multdiv_fast"),
    *("prefetch_buffer", "fetch_fifo", "register_file_ff", "core"),
)


def _ibex(name: str, title: str, multiplier: str, stages: int) -> RtlCore:
    """Return Ibex with a type of multiplier (a value of ``rv32m_e``) and 2 or 3 pipeline stages. With 3 stages, it also
    has an adder for the targets of branches."""
    third_stage = "1" if stages == 3 else "0"
    return RtlCore(
        name=name,
        title=title,
        package=_IBEX,
        variable="ARENITE_IBEX",
        folders=(f"{_IBEX_ROOT}/rtl", _IBEX_PRIMITIVES, _IBEX_UTILITIES),
        include=(_IBEX_PRIMITIVES, _IBEX_UTILITIES),
        sources=(
            f"{_IBEX_ROOT}/rtl/ibex_pkg.sv",
            f"{_IBEX_PRIMITIVES}/prim_secded_pkg.sv",
            f"{_IBEX_PRIMITIVES}/prim_ram_1p_pkg.sv",
            *(f"{_IBEX_ROOT}/rtl/ibex_{module}.sv" for module in _IBEX_MODULES),
        ),
        top="ibex_board.sv",
        defines=(
            ("SYNTHESIS", "1"),  # leaves out the checks of verification
            ("IBEX_MULTIPLIER", multiplier),
            ("IBEX_WRITEBACK", third_stage),
            ("IBEX_BRANCH_ALU", third_stage),
        ),
    )


RTL_CORES = {
    core.name: core
    for core in (
        RtlCore(
            name="cv32e40p",
            title="CV32E40P (four stages)",
            package=_CV32E40P,
            variable="ARENITE_CV32E40P",
            folders=(_CV32E40P_RTL,),
            include=(f"{_CV32E40P_RTL}/include",),
            sources=(
                *(f"{_CV32E40P_RTL}/include/cv32e40p_{module}.sv" for module in _CV32E40P_PACKAGES),
                *(f"{_CV32E40P_RTL}/cv32e40p_{module}.sv" for module in _CV32E40P_MODULES),
            ),
            top="cv32e40p_board.sv",
        ),
        _ibex("ibex", "Ibex (three stages, multiplier of one cycle)", "RV32MSingleCycle", 3),
        _ibex("ibex_small", "Ibex (two stages, multiplier of three to four cycles)", "RV32MFast", 2),
    )
}


def rtl_core(name: str) -> RtlCore:
    """Return the core ``name``. Raises ``ProfileError`` if there is none."""
    if name not in RTL_CORES:
        raise ProfileError(
            f"There is no core '{name}' that can be simulated.", f"Choose one of {', '.join(RTL_CORES)}."
        )
    return RTL_CORES[name]
