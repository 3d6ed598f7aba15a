"""The rules of the checker: one row for each id that a finding can carry.

`reading` says how a point was decided that isa.md leaves open; an empty text means that nothing was left open.
"""

from __future__ import annotations

from dataclasses import dataclass

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: id, severity, section of isa.md, what is wrong, and the reading of what is uncertain."""

    id: str
    severity: str
    section: str
    title: str
    reading: str = ""


_ROWS: tuple[Rule, ...] = (
    # operands and addresses
    Rule("5.role", ERROR, "5, 9-13", "an operation has an operand or modifier that it does not accept"),
    Rule("5.operand", ERROR, "5.3, 6", "an operand has an address form that its memory does not have"),
    Rule("3.range", ERROR, "3", "an address lies outside its memory, or a block transfer runs past the end",
         "addresses wrap at run time; a program that relies on it for a block transfer is refused"),
    Rule("3.wrap", WARNING, "3", "a strided PE access runs past the end of the memory and wraps",
         "legal by the wrap rule and useful as a negative stride, so only a warning"),
    Rule("3.align", ERROR, "3", "a long word at an odd word address, or two long words at one that 4 does not divide",
         "asked of every address in the text, read or written; not of T-indirect ones, whose low bits are dropped"),
    Rule("3.stride", ERROR, "5.3", "a stride that is not a multiple of the access width",
         "the machine word holds strides in units of the access width"),
    Rule("11.row", ERROR, "11", "a matrix row that the precision does not have, or an odd row for two long words"),
    Rule("12.align", ERROR, "12.1, 13", "an L1BM or L2BM address off the grid that published programs keep to",
         "multiples of 4 in L1BM (64 for l1bmd, 16 and 32 for L2BM operations), of 16 or 64 in L2BM"),
    Rule("12.manual", WARNING, "12.1, 13", "an L1BM or L2BM address off the manual's own alignment",
         "published programs break it, so only a warning"),
    Rule("12.wide", ERROR, "12.1", "the two-long-word form of l1bmr with a reduction that does not have it"),
    Rule("12.turn", ERROR, "12.3", "a turnaround read of another family or width than the last transfer up"),
    Rule("12.shift", WARNING, "12.2", "an up and a down transfer through the turnaround register differ in their shift",
         "the manual asks for equal shifts, the only published use has none on the way up"),
    Rule("10.lw1", WARNING, "10, 24.6", "a two-long-word destination of a single or double MAU operation",
         "the second long word is unknown"),
    # MV
    Rule("14.form", ERROR, "14.2", "an MV mode between memories or locations that it does not connect"),
    Rule("14.size", ERROR, "14.2", "an MV size that is zero or not a multiple of the mode's unit"),
    Rule("14.align", WARNING, "14, 21.3", "an MV address that is not a multiple of 16 long words",
         "16 long words are the DRAM access unit; isa.md gives no rule"),
    Rule("14.tag", WARNING, "14.1", "a tag given to an MV while another MV with it is not waited for",
         "several MVs may share a tag; a wait then waits for all of them"),
    Rule("14.wait", WARNING, "8, 19.3", "a wait for a tag that no MV of the program has set",
         "such tags may belong to the host"),
    Rule("14.end", WARNING, "14.1", "the program ends while an MV is not waited for"),
    # section 16, rules 1 to 8
    Rule("16.unit", ERROR, "16", "two expressions of one group in a step"),
    Rule(
        "16.lbf",
        ERROR,
        "16",
        "a transfer from L1BM and one from the turnaround register to the PEs in a step",
        "the text lets the second share a step with a transfer up; two would fill $lbf",
    ),
    Rule("16.1", ERROR, "16", "nop together with something other than wait"),
    Rule("16.2", ERROR, "16", "three MAU expressions, or two precisions, in a step"),
    Rule("16.3", ERROR, "16", "vfma or vmul with an mwrite whose source is not its second operand"),
    Rule("16.4", ERROR, "16", "a matrix register named twice in a step"),
    Rule("16.5", ERROR, "16", "two accesses to one port of a PE memory, T, mask file or BAR that differ",
         "ports are shared only by operands with the same address form, stride and width; an operation that reads "
         "and writes one LM differently breaks the rule by itself"),
    Rule("16.6", ERROR, "16", "imm in a step that accesses LM0"),
    Rule("16.7", ERROR, "16", "two zero-flush masks, or masks of different lengths, in a step",
         "a length that is not written counts as long"),
    Rule("16.8", ERROR, "16", "$nowrite together with another destination"),
    Rule("16.mask", WARNING, "16, 20.2", "two fixed masks in a step",
         "the machine word has one mask entry; the text asks for equal entries of variable masks only"),
    Rule("16.overlap", ERROR, "4", "two operations of a step write the same long words of L1BM, L2BM or DAR",
         "isa.md gives no order between them"),
    # section 17
    Rule("H1", ERROR, "17", "a GRF or T word read less than 7 cycles after it was written",
         "counted element by element; cycles that a fixed write mask disables are no writes, variable masks write"),
    Rule("H3", ERROR, "17", "an LM read less than 3 steps after a write to that LM, at any address"),
    Rule("H7", ERROR, "17", "an LM access less than 3 steps after a write to its base address register",
         "the count is uncertain; the larger one is taken"),
    Rule("H8", ERROR, "17", "a T-indirect access less than 7 cycles after T was written"),
    Rule("H9", ERROR, "17", "L1BM to PE less than 3 steps after PE to L1BM, at any address"),
    Rule("H11", ERROR, "17", "L1BM words read by an L2BM operation less than 3 steps after PEs wrote them",
         "counted in steps, not element by element"),
    Rule("H12", ERROR, "17", "L1BM words read by PEs in the step after L2BM wrote them",
         "counted in steps, not element by element"),
    Rule("H13", ERROR, "17", "L2BM to L1BM less than 4 steps after L1BM to L2BM, at any address"),
    Rule("H14", WARNING, "17", "an MV reads L2BM words that the step right before it wrote",
         "the manual shows one free step, the assembler accepts none: a warning, and the packer leaves one"),
    Rule("H15", ERROR, "17", "L1BM read by L2BM operations too soon after L2BM to L1BM (8 steps) or l2bmi (4 steps)",
         "the counts are unknown; the smallest ones of published programs are taken, at any address"),
    Rule("H16", ERROR, "17", "access to what an MV without wait still reads or writes",
         "read-read is allowed; $di counts as any address of its groups; the step with the wait may not access yet"),
    Rule("H18", ERROR, "13.2, 17", "a $di transfer less than 129 steps after l2bmdarw",
         "how many steps an l2bmdarw needs is uncertain; all 512 entries' time is taken"),
    # section 8
    Rule("8.stale", WARNING, "8, 12.3", "a forwarding path or turnaround register read after its value is lost",
         "valid in the next step that is neither nop nor noforward; afterwards it counts as lost"),
)  # fmt: skip

RULES: dict[str, Rule] = {row.id: row for row in _ROWS}
