"""Operators as small functions of tensors, for comparison of forward and backward passes with eager torch."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)
R = torch.randn
CASES = {}


def case(name, fn, *xs):
    CASES[name] = fn, xs


def using(function, **options):
    """The function with keyword arguments fixed."""
    return lambda *xs: function(*xs, **options)


def each(module, names, *xs):
    for name in names.split():
        case(name, getattr(module, name), *xs)


u = torch.rand
each(torch, "relu neg abs exp sin cos tan tanh sigmoid floor ceil round erf sign asin acos atan sinh", R(3, 4) * 0.5)
each(torch, "cosh asinh atanh expm1 trunc square", R(3, 4) * 0.3)
each(torch, "log sqrt reciprocal rsqrt log2 log10 log1p acosh", u(3, 4) + 1.1)
each(F, "gelu silu mish softplus elu selu celu hardtanh hardsigmoid hardswish leaky_relu softsign", R(3, 4) * 3)
each(F, "tanhshrink logsigmoid softshrink hardshrink relu6", R(3, 4) * 3)
each(torch, "add sub mul div maximum minimum pow atan2 fmod remainder", u(3, 4) + 0.5, u(4) + 0.5)
case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), R(3, 4))
case("glu", lambda x: F.glu(x, 1), R(3, 4))
case("prelu", F.prelu, R(2, 3, 4), R(3))
case("threshold", lambda x: F.threshold(x, 0.1, 5.0), R(4, 4))
case(
    "floor_divide",
    lambda x, y: torch.div(x, y, rounding_mode="floor") + torch.div(x, y, rounding_mode="trunc"),
    R(3, 4),
    R(4),
)
case("lerp", lambda x, y: torch.lerp(x, y, 0.3) + torch.lerp(x, y, 0.7), R(3), R(3))
case(
    "addcmul",
    lambda x, y, z: torch.addcmul(x, y, z, value=0.3) + torch.addcdiv(x, y, z, value=0.2),
    R(3),
    R(3),
    u(3) + 1,
)
case("where", lambda x, y: torch.where(x > y, x, y * 2), R(3, 4), R(3, 4))
case("clamp", lambda x: x.clamp(-0.5, 0.5) + x.clamp(min=0) + x.clamp(max=0.2), R(3, 4))
case("masked_fill", lambda x: x.masked_fill(x > 0, -1.0), R(3, 4))
case("matmul", torch.matmul, R(2, 3), R(3, 3))
case("baddbmm", lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2), R(2, 3, 3), R(2, 3, 4), R(2, 4, 3))
case("einsum", lambda a, b: torch.einsum("bij,bjk->bki", a, b), R(2, 3, 4), R(2, 4, 5))
case("outer", torch.outer, R(3), R(4))
case("mv", torch.mv, R(3, 4), R(4))
case("dot", torch.dot, R(4), R(4))
for n, k in [
    ("sum", {}),
    ("mean", {}),
    ("prod", {}),
    ("amax", {"dim": 1}),
    ("amin", {"dim": (0, 1)}),
    ("logsumexp", {"dim": 1}),
    ("var", {"dim": 1}),
    ("std", {"dim": 0}),
    ("norm", {}),
    ("norm", {"dim": 1}),
    ("norm", {"p": 1}),
    ("cumsum", {"dim": 1}),
    ("softmax", {"dim": 1}),
    ("log_softmax", {"dim": 0}),
]:
    case(f"{n}{k}", using(getattr(torch, n), **k), R(3, 5))
case("cumprod", lambda x: torch.cumprod(x, 1), u(3, 4) + 0.5)
case("maxdim", lambda x: x.max(1)[0] * x.min(0)[0].sum(), R(3, 5))
case("sort", lambda x: x.sort(1, descending=True)[0] * torch.arange(5.0), R(3, 5))
case("topk", lambda x: x.topk(2, 1)[0], R(3, 5))
case("views", lambda x: x.view(4, 3).t().reshape(2, 6).unsqueeze(0).squeeze().permute(1, 0).flatten()[2:9:3], R(3, 4))
case("cat", lambda x, y: torch.cat([x, y, x], 1), R(3, 2), R(3, 1))
case("stack", lambda x, y: torch.stack([x, y], 1), R(3, 2), R(3, 2))
case("split", lambda x: sum(a.sum() * (n + 1) for n, a in enumerate(x.split(2, 1))), R(3, 5))
case("chunk_unbind", lambda x: x.chunk(2, 1)[1] * sum(x.unbind(0)).sum(), R(3, 4))
case("roll_flip", lambda x: x.roll(2, 1) + x.flip(0) + x.roll(3), R(3, 4))
case("repeat", lambda x: x.repeat(2, 1, 3) + x.repeat_interleave(3, 1)[None].repeat(2, 1, 1), R(3, 4))
case("tril", lambda x: x.tril() + x.triu(1), R(4, 4))
case("diagonal", lambda x: x.diagonal(1), R(4, 5))
case("unfold", lambda x: x.unfold(1, 3, 2), R(2, 7))
case("narrow_select", lambda x: x.narrow(1, 1, 2) + x.select(1, 0)[:, None], R(3, 4))
case("expand", lambda x: x[:, None].expand(3, 2, 4) * 2, R(3, 4))
case("pad", lambda x: F.pad(x, (1, 2, 0, 1), value=3.0)[:, :-1], R(2, 3))
case("pad_neg", lambda x: F.pad(x, (-1, 2)), R(2, 3))
case("reflect", lambda x: F.pad(x, (1, 2, 0, 1), mode="reflect"), R(1, 2, 3, 4))
case("replicate", lambda x: F.pad(x, (1, 2, 0, 1), mode="replicate"), R(1, 2, 3, 4))
case("circular", lambda x: F.pad(x, (1, 2), mode="circular"), R(1, 2, 4))
case("movedim", lambda x: x.movedim(0, 2) * 1.0, R(2, 3, 4))
case("as_strided", lambda x: torch.as_strided(x, (2, 2), (1, 2), 1), R(6))
POSITIONS = torch.tensor([[0, 2], [1, 0]])
case("index", lambda x: x[POSITIONS] * 2, R(3, 4))
case("index2", lambda x: x[:, POSITIONS, torch.tensor([1, 0])], R(2, 3, 4))
case("index3", lambda x: x[POSITIONS, :, torch.tensor([1, 0])], R(3, 2, 4))
case("index_select", lambda x: x.index_select(1, torch.tensor([2, 0])), R(2, 3))
case("gather", lambda x: x.gather(1, POSITIONS), R(2, 3))
case("take_along", lambda x: torch.take_along_dim(x, POSITIONS, 1), R(2, 3))
case("scatter", lambda x, y: x.scatter(1, POSITIONS, y), R(2, 3), R(2, 2))
case("scatter_add", lambda x, y: x.scatter_add(1, torch.tensor([[0, 0], [1, 1]]), y), R(2, 3), R(2, 2))
case("index_put", lambda x, y: x.index_put((torch.tensor([0, 2]),), y), R(3, 4), R(2, 4))
case(
    "index_put_acc",
    lambda x, y: x.index_put((torch.tensor([0, 0]), torch.tensor([1, 1])), y, accumulate=True),
    R(3, 4),
    R(2),
)
case("index_add", lambda x, y: x.index_add(0, torch.tensor([0, 0]), y), R(3, 4), R(2, 4))
case("index_copy", lambda x, y: x.index_copy(1, torch.tensor([2, 0]), y), R(3, 4), R(3, 2))


def _set_item(x, y):
    z = x.clone()
    z[:, 0:4:2] = y
    return z


case("setitem", _set_item, R(3, 4), R(3, 2))
case("embedding", lambda w: F.embedding(POSITIONS, w, padding_idx=0), R(3, 4))
case("embedding_bag", lambda w: w[POSITIONS].mean(1), R(3, 4))
T = torch.tensor([1, 0, 2])
case("ce", lambda x: F.cross_entropy(x, T), R(3, 5))
case("ce_w", lambda x, w: F.cross_entropy(x, T, weight=w.detach(), ignore_index=0, label_smoothing=0.1), R(3, 5), u(5))
case("ce_none", lambda x: F.cross_entropy(x, T, reduction="none"), R(3, 5))
case("ce2d", lambda x: F.cross_entropy(x, torch.tensor([[[1, 0], [2, -100]]])), R(1, 3, 2, 2))
case("ce_sum", lambda x: F.cross_entropy(x, T, reduction="sum"), R(3, 5))
case("ce_prob", lambda x, t: F.cross_entropy(x, t.softmax(1)), R(3, 5), R(3, 5))
case("mse", F.mse_loss, R(3, 4), R(3, 4))
case("l1", F.l1_loss, R(3, 4), R(3, 4))
case("smooth", F.smooth_l1_loss, R(3, 4) * 2, R(3, 4))
case("huber", F.huber_loss, R(3, 4) * 2, R(3, 4))
case("bce", lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), R(3, 4), R(3, 4))
case(
    "bcel",
    lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid().detach(), pos_weight=torch.tensor(2.0)),
    R(3, 4),
    R(3, 4),
)
case("kl", lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"), R(3, 4), R(3, 4))
case("nll", lambda x: F.nll_loss(x, T), R(3, 5))
case("cosine", F.cosine_similarity, R(3, 4), R(3, 4))
case("triplet", F.triplet_margin_loss, R(3, 4), R(3, 4), R(3, 4))
case("normalize", F.normalize, R(3, 4))
for nd in (1, 2, 3):
    conv, transposed = getattr(F, f"conv{nd}d"), getattr(F, f"conv_transpose{nd}d")
    size, kernel = (7, 6, 5)[:nd], (3, 2, 3)[:nd]
    case(f"conv{nd}", using(conv, stride=2, padding=1), R(2, 4, *size), R(6, 4, *kernel), R(6))
    grouped = using(conv, stride=2, padding=2, dilation=2, groups=2)
    case(f"conv{nd}_groups", grouped, R(2, 4, *size), R(6, 2, *kernel))
    case(f"conv{nd}_depthwise", using(conv, groups=4, padding=1), R(2, 4, *size), R(4, 1, *kernel))
    back = using(transposed, stride=2, padding=1, output_padding=1, groups=2)
    case(f"conv_transpose{nd}", back, R(2, 4, *size), R(4, 3, *kernel), R(6))
case("conv_unb", F.conv2d, R(3, 5, 5), R(2, 3, 3, 3))
case("conv_same", using(F.conv2d, padding="same"), R(1, 3, 5, 5), R(2, 3, 3, 5))
case("maxpool", lambda x: F.max_pool2d(x, 3, 2, 1), R(2, 3, 7, 8))
case("maxpool_ceil", lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True), R(2, 3, 7, 8))
case("maxpool1", lambda x: F.max_pool1d(x, 2), R(2, 3, 8))
case("maxpool3", lambda x: F.max_pool3d(x, 2), R(1, 2, 4, 4, 4))
case("avgpool", lambda x: F.avg_pool2d(x, 3, 2, 1), R(2, 3, 7, 8))
case("avgpool_b", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), R(2, 3, 7, 8))
case("avgpool_c", lambda x: F.avg_pool2d(x, 2, 2, 0, ceil_mode=True, divisor_override=3), R(2, 3, 7, 8))
case("avgpool1", lambda x: F.avg_pool1d(x, 2), R(2, 3, 8))
case("avgpool3", lambda x: F.avg_pool3d(x, 2, 1, 1), R(1, 2, 4, 4, 4))
case("aap1", lambda x: F.adaptive_avg_pool2d(x, 1), R(2, 3, 7, 8))
case("aap", lambda x: F.adaptive_avg_pool2d(x, (3, 4)), R(2, 3, 7, 8))
case("aap_1d", lambda x: F.adaptive_avg_pool1d(x, 3), R(2, 3, 7))
case("aap3", lambda x: F.adaptive_avg_pool3d(x, (2, 3, 1)), R(2, 3, 4, 7, 5))
case("amp", lambda x: F.adaptive_max_pool2d(x, (3, 4)), R(2, 3, 7, 8))
case("amp1", lambda x: F.adaptive_max_pool2d(x, 1), R(2, 3, 7, 8))
case("lppool", lambda x: F.lp_pool2d(x.abs() + 0.1, 2, 2), R(2, 3, 6, 8))
case("ln", lambda x, w, b: F.layer_norm(x, (4,), w, b), R(2, 3, 4), R(4), R(4))
case("ln2", lambda x: F.layer_norm(x, (3, 4)), R(2, 3, 4))
case("gn", lambda x, w, b: F.group_norm(x, 2, w, b), R(2, 4, 3, 3), R(4), R(4))
case("in", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), R(2, 4, 3, 3), R(4), R(4))
case("rms", lambda x, w: F.rms_norm(x, (4,), w, eps=1e-6), R(2, 3, 4), R(4))
case("bn_nostat", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), R(4, 3, 5), R(3), R(3))
case(
    "bn_eval",
    lambda x, w, b: F.batch_norm(x, torch.full((3,), 0.1), torch.full((3,), 2.0), w, b, training=False),
    R(4, 3, 5),
    R(3),
    R(3),
)
case("lrn", lambda x: F.local_response_norm(x, 2), R(2, 4, 3, 3))
case("wn", lambda v, g: torch._weight_norm(v, g, 0), R(3, 4), R(3, 1))
case("sdpa", F.scaled_dot_product_attention, R(1, 2, 3, 4), R(1, 2, 5, 4), R(1, 2, 5, 4))
case(
    "sdpa_causal",
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    R(1, 2, 3, 4),
    R(1, 2, 3, 4),
    R(1, 2, 3, 4),
)
case(
    "sdpa_gqa",
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
    R(1, 4, 3, 4),
    R(1, 2, 3, 4),
    R(1, 2, 3, 4),
)
MK = torch.tensor([[False] * 3, [True, False, True], [True] * 3])
case(
    "sdpa_mask",
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=MK)[..., 1:, :],
    R(1, 2, 3, 4),
    R(1, 2, 3, 4),
    R(1, 2, 3, 4),
)
for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
    case(f"up_{mode}", using(F.interpolate, scale_factor=1.7, mode=mode), R(1, 2, 4, 5))
    case(f"up_to_{mode}", using(F.interpolate, size=(3, 9), mode=mode), R(1, 2, 4, 5))
case("up_ac", lambda x: F.interpolate(x, size=(3, 9), mode="bilinear", align_corners=True), R(1, 2, 4, 5))
case("up_lin", lambda x: F.interpolate(x, size=9, mode="linear"), R(1, 2, 4))
case("up_tri", lambda x: F.interpolate(x, size=(3, 4, 5), mode="trilinear"), R(1, 2, 4, 3, 2))
case("up_aa", lambda x: F.interpolate(x, size=(3, 3), mode="bilinear", antialias=True), R(1, 2, 6, 7))
case(
    "pixel_shuffle", lambda x: F.pixel_shuffle(x, 2) + F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2).sum(), R(1, 8, 3, 3)
)
case("unfold2", lambda x: F.unfold(x, (2, 3), padding=1, stride=2), R(1, 2, 5, 6))
case("fold", lambda x: F.fold(x, (4, 5), (2, 2)), R(1, 8, 12))
case("channel_shuffle", lambda x: F.channel_shuffle(x, 2), R(1, 4, 3, 3))
case("grid", lambda x, g: F.grid_sample(x, g.tanh(), align_corners=False), R(1, 2, 4, 4), R(1, 3, 3, 2))
case("cdist", torch.cdist, R(3, 4), R(2, 4))
case("bilinear", F.bilinear, R(3, 4), R(3, 5), R(2, 4, 5))
case("kron", torch.kron, R(2, 2), R(2, 3))
case("trace", torch.trace, R(3, 3))
case("cross", torch.linalg.cross, R(2, 3), R(2, 3))
case("polar", lambda x: torch.hypot(x, x + 1), R(3))
case("clip_norm", lambda x: x * (1.0 / (x.norm() + 1e-6)).clamp(max=1.0), R(3, 3))
case("std_mean", lambda x: torch.std_mean(x, 1)[0] + torch.var_mean(x, 1)[1], R(3, 4))
case("nan_to_num", torch.nan_to_num, R(3))
case("xlogy", torch.xlogy, u(3) + 0.1, u(3) + 0.1)
case("logaddexp", torch.logaddexp, R(3), R(3))
case("softmin", lambda x: F.softmin(x, 1), R(3, 4))
case("rot", torch.rot90, R(3, 4))
case("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij")[0] * y, R(3), R(2))
case("bucket", lambda x: torch.bucketize(x, torch.tensor([0.0, 1.0])).float() * x, R(3, 4))
case(
    "lstm",
    lambda x, w, u_, b: torch.lstm(
        x, (torch.zeros(1, 2, 3), torch.zeros(1, 2, 3)), (w, u_, b, b), True, 1, 0.0, False, False, False
    )[0],
    R(4, 2, 5),
    R(12, 5),
    R(12, 3),
    R(12),
)
case(
    "gru",
    lambda x, w, u_, b: torch.gru(x, torch.zeros(1, 2, 3), (w, u_, b, b), True, 1, 0.0, False, False, False)[0],
    R(4, 2, 5),
    R(9, 5),
    R(9, 3),
    R(9),
)
case(
    "rnn",
    lambda x, w, u_, b: torch.rnn_tanh(x, torch.zeros(1, 2, 3), (w, u_, b, b), True, 1, 0.0, False, False, False)[0],
    R(4, 2, 5),
    R(3, 5),
    R(3, 3),
    R(3),
)
case(
    "mha",
    lambda x, w, o: F.multi_head_attention_forward(
        x, x, x, 4, 2, w, None, None, None, False, 0.0, o, None, need_weights=False
    )[0],
    R(3, 2, 4),
    R(12, 4),
    R(4, 4),
)
case("amax_all", lambda x: x.max() - x.min(), R(3, 4))
case("any", lambda x: x * (x > 0).any(1, keepdim=True) * (x > -1).all(), R(3, 4))
case("argmax", lambda x: x.argmax(1).float() + x.argmin().float() * x[:, 0], R(3, 4))
case("bf16_autocast", lambda a, b: (a.bfloat16() @ b.bfloat16()).float(), R(3, 4), R(4, 5))
case("half", lambda a: (a.half() * 2).float(), R(3, 4))
case("double", lambda a: a.double().exp().float(), R(3, 4))
case("logcumsumexp", lambda x: torch.logcumsumexp(x, 1) + torch.logcumsumexp(x, 0), R(3, 5))
case("erfinv", lambda x: torch.erfinv(x * 0.7) + torch.erfinv(x.double() * 0.6).float(), u(3, 4) * 2 - 1)
LABELS, LENGTHS = torch.tensor([[1, 1, 3], [2, 4, 2]]), torch.tensor([3, 2])
case(
    "ctc_loss",
    lambda x: (
        F.ctc_loss(x.log_softmax(2), LABELS, torch.tensor([5, 4]), LENGTHS)
        + F.ctc_loss(x.log_softmax(2), LABELS.flatten()[:5], (5, 4), (3, 2), reduction="sum", zero_infinity=True)
    ),
    R(5, 2, 5),
)
case(
    "ctc_loss_single",
    lambda x: F.ctc_loss(x.log_softmax(1), LABELS[1], torch.tensor(5), torch.tensor(3), reduction="none"),
    R(5, 5),
)
case("addmv", lambda c, a, b: torch.addmv(c, a, b, beta=0.5, alpha=2), R(3), R(3, 4), R(4))
case("median", lambda x: x.median(1)[0] + x.median(0, keepdim=True)[1][0, :3] + x.median(), R(3, 4))
case("kthvalue", lambda x: x.kthvalue(2, 0)[0], R(3, 4))
case("cummax", lambda x: x.cummax(1)[0] + x.cummin(0)[0] * x.cummax(0)[1], R(5, 7))
case("cummax_ties", lambda x: x * x.sign().cummax(1)[1] + x.sign().cummin(1)[1], R(5, 7))
case("searchsorted", lambda x: x * torch.searchsorted(torch.tensor([-1.0, 0.0, 0.5]), x, right=True), R(3, 4))
case(
    "searchsorted_rows",
    lambda x: x * torch.searchsorted(x.sort(1)[0], x[:, :2].contiguous(), out_int32=True).sum(1, keepdim=True),
    R(3, 4),
)
case("erfc", torch.erfc, R(3, 4))
case("exp2", torch.exp2, R(3, 4))
case("copysign", lambda x: torch.copysign(x, -x) + torch.copysign(x, -1.0) + torch.signbit(x), R(3, 4))
case("round_decimals", lambda x: x * torch.round(x, decimals=1) + torch.round(x * 100, decimals=-1), R(3, 4))
case("histc", lambda x: x.sum() * torch.histc(x, 4) + torch.histc(x, 4, -1, 1), R(3, 4))
case("put", lambda x: x.put(torch.tensor([0, -1, 5]), x[0, :3]) + x.put(torch.tensor([2, 2]), x[1, :2], True), R(3, 4))
PLACES = torch.tensor([[0, 1, 1, 2], [0, 0, 1, 1], [2, 2, 2, 2]])
for kind in ("sum", "mean", "amax", "amin"):
    for include in (True, False):
        case(
            f"scatter_{kind}_{include}".lower(),
            lambda x, y, kind=kind, include=include: x.scatter_reduce(0, PLACES, y, kind, include_self=include),
            R(4, 4),
            R(3, 4),
        )
