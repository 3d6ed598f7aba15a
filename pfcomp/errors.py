"""Every error a user can cause: one table of codes, one exception class for each kind.

A message is one line: what is wrong, where, what to do. The command line prints it as `pfcomp: PF0801: ...` and ends
with the exit code of its kind; `docs/errors.md` is generated from the table.
"""

from __future__ import annotations

from dataclasses import dataclass


class PfcompError(Exception):
    """Base of all typed errors; `exit_code` is what the command line ends with."""

    exit_code = 70

    def __init__(self, code: str, what: str, *, where: str = "", hint: str = "") -> None:
        if code not in ERRORS:
            raise KeyError(f"error code {code} is not in pfcomp.errors.ERRORS")
        self.code, self.what, self.where, self.hint = code, what, where, hint
        super().__init__(self.one_line())

    def one_line(self) -> str:
        """`CODE: where: what; hint` with the empty parts left out."""
        place = f"{self.where}: " if self.where else ""
        advice = f"; {self.hint}" if self.hint else ""
        return f"{self.code}: {place}{self.what}{advice}"


class UsageError(PfcompError):
    """The command line, an option or an environment variable is wrong."""

    exit_code = 2


class SourceError(PfcompError):
    """The user's script, function, sample, model or assembly text is wrong."""

    exit_code = 3


class UnsupportedError(PfcompError):
    """The input is valid but needs something that this version does not have."""

    exit_code = 4


class ArtifactError(PfcompError):
    """A file that we read (app, cache entry, codegen_dir) is damaged, foreign or of another version."""

    exit_code = 5


class DeviceError(PfcompError):
    """A device is missing, busy or failed while running."""

    exit_code = 6


class InternalError(PfcompError):
    """The compiler broke one of its own rules; please report."""

    exit_code = 70


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """A row of the table: the class raised, what it means and what to do."""

    kind: type[PfcompError]
    title: str
    remedy: str


# Ranges: 01 isa, 02 layout, 03 frontend/passes/pfvm, 04 ir/plan/kernels/simulate, 05 app and artifacts,
# 06 runtime and devices, 07 emulator, 08 command line and options.
ERRORS: dict[str, ErrorInfo] = {
    # 01 isa
    "PF0101": ErrorInfo(
        SourceError, "Assembly text has bad lines", "Correct the listed lines; docs/isa.md lists what is legal."
    ),
    "PF0102": ErrorInfo(
        SourceError, "A program does not fit the binary form", "Use addresses, sizes and counts that the chip has."
    ),
    "PF0103": ErrorInfo(
        ArtifactError, "Not a GPFNBin program of this version", "Compile the program again with this version of pfcomp."
    ),
    "PF0104": ErrorInfo(ArtifactError, "A GPFNBin program is damaged", "Compile the program again or copy it anew."),
    "PF0150": ErrorInfo(InternalError, "A kernel emitted something that the chip cannot do", "Please report it."),
    "PF0151": ErrorInfo(
        UnsupportedError, "A program needs more registers than a PE has", "Compile a smaller graph, and report it."
    ),
    "PF0152": ErrorInfo(InternalError, "A packed program breaks a rule of the chip", "Please report it."),
    # 02 layout
    "PF0201": ErrorInfo(
        SourceError, "A layout text cannot be read", "write it as ((3:1), (2_W:1, 4_PE:1); B@[MAB,L1B,L2B])"
    ),
    "PF0202": ErrorInfo(
        SourceError, "A layout or operand does not fit the shape", "give every axis digits whose sizes cover it"
    ),
    "PF0203": ErrorInfo(SourceError, "A subaxis has no values", "use sizes of 1 or more and strides of 0 or more"),
    "PF0204": ErrorInfo(
        SourceError, "A layout exceeds a level of the chip", "L2B and L1B have 8, MAB 16, PE 4, W 64/bits coordinates"
    ),
    "PF0205": ErrorInfo(
        SourceError, "A layout puts two indices into one place", "choose strides so that the digits of a level nest"
    ),
    "PF0206": ErrorInfo(
        SourceError, "B@ claims copies where there are none", "name only spatial coordinates that no digit uses"
    ),
    "PF0207": ErrorInfo(
        SourceError, "Host data does not match the device tensor", "use the tensor's shape and one of the listed dtypes"
    ),
    "PF0208": ErrorInfo(SourceError, "An index lies outside its layout", "indices start at 0 and end below the size"),
    # 03 frontend, passes, pfvm
    "PF0301": ErrorInfo(SourceError, "an input or output name is empty", "give every tensor a non-empty key"),
    "PF0302": ErrorInfo(SourceError, "a name is used twice", "give inputs, outputs and states different names"),
    "PF0303": ErrorInfo(SourceError, "an input or output name is not a string", "use strings as keys"),
    "PF0304": ErrorInfo(SourceError, "the sample is not a mapping of tensors", "pass a dict of str to torch.Tensor"),
    "PF0305": ErrorInfo(SourceError, "the function's result is not a mapping", "return a dict of str to torch.Tensor"),
    "PF0306": ErrorInfo(SourceError, "a value is not a tensor", "leave it out, or make it a tensor"),
    "PF0307": ErrorInfo(SourceError, "an element type is not supported", "convert to a real dense dtype"),
    "PF0308": ErrorInfo(
        SourceError,
        "the function needs the value of a tensor while it is traced",
        "replace .item(), bool(tensor) and the like by tensor operations such as torch.where",
    ),
    "PF0309": ErrorInfo(
        SourceError, "a shape depends on values", "use masks or a fixed size instead of nonzero or boolean indexing"
    ),
    "PF0310": ErrorInfo(SourceError, "an input is changed in place", "work on a clone, or register it as a buffer"),
    "PF0311": ErrorInfo(
        SourceError,
        "a tensor that is neither registered nor named is changed in place",
        "register it with the context or give it a name with set_tensor_name",
    ),
    "PF0312": ErrorInfo(SourceError, "the traced function raised an exception", "see the chained exception"),
    "PF0313": ErrorInfo(UnsupportedError, "an operator has no translation to ONNX", "see docs/ops.md for what exists"),
    "PF0314": ErrorInfo(ArtifactError, "a captured graph is damaged or foreign", "run the trace stage again"),
    "PF0315": ErrorInfo(SourceError, "an ONNX model cannot be read or is not valid", "check it with onnx.checker"),
    "PF0316": ErrorInfo(SourceError, "an ONNX model has dynamic shapes", "export it with fixed shapes"),
    "PF0317": ErrorInfo(SourceError, "an input of a model run is missing or does not fit", "see the expected inputs"),
    "PF0318": ErrorInfo(DeviceError, "the reference executor failed", "see the chained exception"),
    "PF0319": ErrorInfo(InternalError, "a pass broke its contract", "report it with the model"),
    "PF0320": ErrorInfo(
        SourceError,
        "a tensor of the traced function is kept outside it",
        "return it, or copy it into a registered or named tensor",
    ),
    # 04 ir, plan, kernels, simulate
    "PF0401": ErrorInfo(
        UnsupportedError,
        "Operators without a kernel",
        "Every node that cannot be compiled is listed with its source line; rewrite these lines, or run on pfvm:cpu.",
    ),
    "PF0402": ErrorInfo(UnsupportedError, "Unknown shape", "Compile with static shapes only."),
    "PF0403": ErrorInfo(UnsupportedError, "NaN constant", "The chip has no NaN; replace the constant."),
    "PF0404": ErrorInfo(
        UnsupportedError,
        "Values do not fit into local memory",
        "Split the function, use fewer operands per operation, or raise the option sram_budget.",
    ),
    "PF0405": ErrorInfo(InternalError, "Two living values share a place", "Report the graph; this is a defect."),
    "PF0406": ErrorInfo(
        UnsupportedError,
        "Forced layout cannot be met",
        "Name an input, output or registered tensor; use a layout that its neighbours can share, or none.",
    ),
    "PF0408": ErrorInfo(ArtifactError, "Damaged or foreign schedule file", "Compile again; the stage rewrites it."),
    "PF0409": ErrorInfo(UnsupportedError, "Reserved name", "Rename the value: the suffix marks on-chip copies."),
    "PF0421": ErrorInfo(
        UnsupportedError,
        "No layout fits into local memory",
        "Use a smaller batch, or split the function.",
    ),
    "PF0422": ErrorInfo(
        UnsupportedError,
        "A node needs more local memory than there is",
        "Use a smaller batch, raise sram_budget, or split the function.",
    ),
    "PF0423": ErrorInfo(
        UnsupportedError,
        "The tensors do not fit into the DRAM",
        "Use a smaller batch or model, or split the function.",
    ),
    # 05 app and artifacts
    "PF0501": ErrorInfo(ArtifactError, "a file cannot be read", "check the name and the permissions"),
    "PF0502": ErrorInfo(UsageError, "a folder cannot be written", "choose another folder or make it writable"),
    "PF0503": ErrorInfo(ArtifactError, "Zstandard data is damaged", "make the file again"),
    "PF0504": ErrorInfo(ArtifactError, "content is larger than any honest file", "make the file again"),
    "PF0510": ErrorInfo(ArtifactError, "a file is not a GPFNApp", "give a model.app or the folder that holds it"),
    "PF0511": ErrorInfo(ArtifactError, "an app has another format version", "compile the program again"),
    "PF0512": ErrorInfo(ArtifactError, "an app is damaged or cut short", "compile the program again"),
    "PF0513": ErrorInfo(ArtifactError, "an app's structure is broken", "compile the program again"),
    "PF0514": ErrorInfo(ArtifactError, "an app's content contradicts itself", "compile the program again"),
    "PF0515": ErrorInfo(ArtifactError, "an app's program breaks the rules of the chip", "compile the program again"),
    "PF0516": ErrorInfo(UsageError, "an app cannot be placed at these addresses", "give multiples of 16 long words"),
    "PF0517": ErrorInfo(UnsupportedError, "an app would be larger than 2 GiB", "make large constants inputs"),
    "PF0520": ErrorInfo(ArtifactError, "a folder is not a codegen_dir", "compile something into it first"),
    "PF0521": ErrorInfo(ArtifactError, "a manifest is damaged", "delete the folder and compile again"),
    "PF0522": ErrorInfo(
        ArtifactError, "a codegen_dir is of another schema or version", "delete the folder and compile again"
    ),
    "PF0523": ErrorInfo(ArtifactError, "a stage's file is missing or changed", "run the earlier stage again"),
    "PF0524": ErrorInfo(UsageError, "a codegen_dir is in use for too long", "end the other process, or wait"),
    "PF0530": ErrorInfo(ArtifactError, "a folder is not a cache of pfcomp", "give the cache_dir of CacheOptions"),
    # 06 runtime and devices
    "PF0601": ErrorInfo(UsageError, "unknown device string", "Use one of the strings that the message lists."),
    "PF0602": ErrorInfo(UsageError, "bad environment variable of the boards", "Give a number in the stated range."),
    "PF0603": ErrorInfo(
        DeviceError, "no such board", "`gpfn3-smi list` shows the boards; PFCOMP_BOARDS sets how many."
    ),
    "PF0604": ErrorInfo(DeviceError, "boards' folder not usable", "Set PFCOMP_STATE_DIR to a writable folder."),
    "PF0605": ErrorInfo(
        DeviceError,
        "board busy for too long",
        "End the process that the message names, wait longer (PFCOMP_BOARD_WAIT, seconds), or run "
        "`gpfn3-smi reset --force`.",
    ),
    "PF0606": ErrorInfo(
        DeviceError, "device memory is full", "Drop proxies, invalidate contexts, or use smaller tensors."
    ),
    "PF0607": ErrorInfo(
        DeviceError, "a run on the device failed", "The message has the cause; the place is the function or transfer."
    ),
    "PF0608": ErrorInfo(UsageError, "two tensors with one name", "Give every tensor its own name (set_tensor_name)."),
    "PF0609": ErrorInfo(
        UsageError, "tensor without contents", "Register the tensor, or run a function that writes it, before use."
    ),
    "PF0610": ErrorInfo(UsageError, "input is not a tensor", "Pass a torch.Tensor or a TensorProxy."),
    "PF0611": ErrorInfo(
        UsageError, "tensor without a name", "Call set_tensor_name or set_tensor_name_in_module before register_*."
    ),
    "PF0612": ErrorInfo(UsageError, "tensor is not registered", "Call register_param or register_buffer first."),
    "PF0613": ErrorInfo(
        ArtifactError, "nothing to run in the folder", "Compile into it up to the stage that the message names."
    ),
    "PF0614": ErrorInfo(UsageError, "bad input or expectation", "Write NAME=WHAT with the names of the program."),
    "PF0615": ErrorInfo(UsageError, "not a usable .npy file", "Write it with numpy.save: one array of numbers."),
    "PF0616": ErrorInfo(
        UsageError, "expectation of another size", "Give a reference with as many elements as the output."
    ),
    "PF0617": ErrorInfo(
        UsageError, "arguments of another structure", "Call with the structure given to compile_automap."
    ),
    "PF0618": ErrorInfo(UsageError, "bad fill pattern", "Write a number from 0 to 2^64 - 1."),
    "PF0619": ErrorInfo(UsageError, "device cannot run this", "Use a device that the message names."),
    "PF0620": ErrorInfo(SourceError, "assembly breaks the chip's rules", "Correct the listed lines (isa.md 16, 17)."),
    "PF0621": ErrorInfo(SourceError, "assembly is not text", "Give an assembly source file."),
    "PF0622": ErrorInfo(
        UnsupportedError, "element type without a counterpart", "Convert the tensor to one of the types listed."
    ),
    "PF0623": ErrorInfo(
        UsageError, "Debugging options that do not fit", "Leave out the option or device that the message names."
    ),
    # 07 emulator
    "PF0701": ErrorInfo(
        UnsupportedError,
        "An operation or operand form that the emulator does not execute",
        "Use a documented form of the operation; the message names it and its line.",
    ),
    "PF0702": ErrorInfo(
        SourceError,
        "An MV transfer that the chip does not have",
        "Choose places, ids and a size from the table of MV forms in docs/isa.md.",
    ),
    "PF0703": ErrorInfo(
        DeviceError,
        "No address space for an off-chip memory",
        "Allow more virtual memory for the process (ulimit -v); pages are only used when touched.",
    ),
    "PF0704": ErrorInfo(
        DeviceError,
        "A host access outside of DRAM or PDM",
        "Use groups 0 to 3 and long-word addresses inside of the memory.",
    ),
    "PF0705": ErrorInfo(UsageError, "An emulator engine that does not exist", "Choose one of the engines named."),
    "PF0706": ErrorInfo(
        SourceError,
        "An assembly file that cannot be read",
        "Check that the path exists and holds UTF-8 text.",
    ),
    "PF0707": ErrorInfo(
        SourceError,
        "A program that breaks rules of the chip",
        "Correct the lines named (docs/isa.md lists the rules), or run without the check.",
    ),
    "PF0708": ErrorInfo(InternalError, "A C engine of another version", "Install the package again."),
    "PF0709": ErrorInfo(InternalError, "No memory for the C engine", "Free some memory and try again."),
    "PF0710": ErrorInfo(
        UsageError,
        "A place or PE that the chip does not have, or not one place",
        "Write all ids, as in $lm12n0c0b0m0p0 or n0c0b0m0p0.",
    ),
    "PF0711": ErrorInfo(
        UsageError, "A breakpoint that the program does not have", "Give a step or a node that the message names."
    ),
    "PF0712": ErrorInfo(
        UsageError, "A number of threads that the emulator cannot use", "Give a number from 1 on, or auto."
    ),
    # 08 command line and options
    "PF0801": ErrorInfo(UsageError, "a command line is wrong", "see --help"),
    "PF0802": ErrorInfo(UsageError, "an option has a value that is not allowed", "see `pfcomp options`"),
    "PF0803": ErrorInfo(UsageError, "an option file is missing or malformed", "see docs/options.md"),
    "PF0804": ErrorInfo(SourceError, "a source cannot be read", "give a .onnx file, file.py:function or a script"),
    "PF0805": ErrorInfo(SourceError, "a script failed", "run it with --debug to see the traceback"),
    "PF0806": ErrorInfo(SourceError, "a script compiled nothing", "call Context.compile in it"),
    "PF0807": ErrorInfo(SourceError, "a function is not in its file", "check the name after the colon"),
    "PF0808": ErrorInfo(UsageError, "a sample is not understood", "write --sample x=float32[3,4]"),
    "PF0809": ErrorInfo(
        UsageError,
        "an entry of a file of forced layouts is wrong",
        "correct the entry that the message names; docs/compiler.md, Forced layouts, has the form",
    ),
    "PF0810": ErrorInfo(
        UsageError,
        "entries of a file of forced layouts apply to nothing",
        "correct or remove them, or set CODEGEN_ALLOW_UNUSED_LAYOUT_SPEC=1",
    ),
    "PF0890": ErrorInfo(InternalError, "the program failed unexpectedly", "report it with the output of --debug"),
}
