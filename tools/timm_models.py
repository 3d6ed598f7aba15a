"""Architectures of timm for `tools/timm_zoo.py`: name and side of the square picture, written `name:64`."""

from __future__ import annotations

_CONVOLUTIONS = """
resnet18:64 resnet50:64 resnext50_32x4d:64 seresnet50:64 ecaresnet26t:64 resnetv2_18:64 resnetv2_50d_frn:64
skresnet18:64 resnest14d:64 legacy_seresnet18:64 densenet121:64 vgg11_bn:64 inception_v3:96 inception_v4:96
xception41:64 dpn48b:64 dla34:64 res2net50_26w_4s:64 hrnet_w18_small:64 selecsls42:64 ese_vovnet19b_dw:64
cspresnet50:64 cs3darknet_focus_s:64 cspnext_tiny:64 hgnetv2_b0:64 tresnet_m:64 mobilenetv2_100:64
mobilenetv3_small_100:64 mobilenetv4_conv_small:64 mobilenetv4_hybrid_medium:64 efficientnet_b0:64
tf_efficientnetv2_b0:64 mnasnet_100:64 ghostnet_100:64 ghostnetv3_100:64 regnetx_002:64 regnety_004:64 lcnet_050:64
tinynet_e:64 rexnet_100:64 hardcorenas_a:64 mixnet_s:64 fbnetc_100:64 repghostnet_100:64 repvgg_a0:64 mobileone_s0:64
repvit_m1:64 lcnetv2_small:64 starnet_s1:64 fasternet_t0:64 shvit_s1:64 convnext_atto:64 convnextv2_atto:64
inception_next_atto:64 convmixer_768_32:64 mambaout_femto:64 rdnet_tiny:64 eca_nfnet_l0:64 nf_regnet_b0:64
gcresnet33ts:64 lambda_resnet26t:256 botnet26t_256:256 halonet26t:256 bat_resnext26ts:256
"""

_ATTENTION = """
vit_tiny_patch16_224:64 deit_tiny_distilled_patch16_224:64 deit3_small_patch16_224:64 cait_xxs24_224:64
beit_base_patch16_224:64 eva02_tiny_patch14_224:56 vit_relpos_small_patch16_224:64 vit_small_r26_s32_224:64
samvit_base_patch16_224:64 hiera_tiny_224:224 vit_pe_core_tiny_patch16_384:64 vit_dwee_patch16_reg1_gap_256:64
swin_tiny_patch4_window7_224:224 swinv2_tiny_window8_256:256 swinv2_cr_tiny_224:224 twins_svt_small:224 pvt_v2_b0:64
pit_ti_224:224 coat_lite_tiny:64 crossvit_9_240:240 convit_tiny:64 xcit_nano_12_p16_224:64 levit_128s:224
tnt_s_patch16_224:64 visformer_tiny:224 nest_tiny:224 volo_d1_224:224 davit_tiny:224 focalnet_tiny_srf:224
gcvit_xxtiny:224 mvitv2_tiny:224 maxvit_rmlp_pico_rw_256:256 coatnet_pico_rw_224:224 poolformer_s12:64 caformer_s18:64
mobilevit_xxs:64 mobilevitv2_050:64 edgenext_xx_small:64 efficientformer_l1:224 efficientformerv2_s0:224 fastvit_t8:64
efficientvit_b0:64 efficientvit_m0:224 tiny_vit_5m_224:224 nextvit_small:64 swiftformer_xs:224 efficientvim_m1:224
iformer_t:224 mixer_s32_224:64 resmlp_12_224:64 gmlp_ti16_224:64 sequencer2d_s:64 naflexvit_base_patch16_gap:64
csatv2:224
"""

_FURTHER = """
cpubone_nano:64 lowformer_b0:64 qwen3_vit_88m:64 gemma4_vit_167m:64 sam2_hiera_tiny:224 inception_resnet_v2:96
vitamin_small_224:64 legacy_xception:96 regnetz_b16:64 regnetz_b16_evos:64 gernet_s:64 resnet51q:64 darknet17:64
maxxvit_rmlp_nano_rw_256:256 maxxvitv2_nano_rw_256:256 coatnext_nano_rw_224:224 convformer_s18:64 poolformerv2_s12:64
gmixer_12_224:64 dm_nfnet_f0:64 nf_seresnet26:64 efficientnet_cc_b0_4e:64 efficientnet_b3_gn:64
efficientnet_b0_g16_evos:64 mobilenetv1_100h:64 mobilenet_edgetpu_v2_xs:64 resnetv2_50x1_bit:64
vit_small_patch16_rope_mixed_224:64 vit_small_patch16_dinov3:64 flexivit_small:64 crossvit_9_dagger_240:240
levit_conv_128s:224 twins_pcpvt_small:224 resnetblur18:64 resnetaa34d:64 haloregnetz_b:224 sebotnet33ts_256:256
resnet50_clip_gap:64 semnasnet_075:64 vovnet39a:64
"""

_TRAINED = """
maxvit_rmlp_pico_rw_256 halonet26t resnet18 resnet50 resnext50_32x4d densenet121 vgg11_bn mobilenetv2_100
mobilenetv3_small_100 efficientnet_b0 regnety_004 convnext_atto convnextv2_atto inception_v3 ghostnet_100
hrnet_w18_small res2net50_26w_4s repvgg_a0 eca_nfnet_l0 vit_tiny_patch16_224 cait_xxs24_224
swin_tiny_patch4_window7_224 mixer_s32_224 gmlp_ti16_224 poolformer_s12 mobilevit_xxs pvt_v2_b0 xcit_nano_12_p16_224
levit_128s coat_lite_tiny mambaout_femto edgenext_xx_small resnest14d skresnet18 mobilenetv4_hybrid_medium starnet_s1
dla34 tresnet_m eva02_tiny_patch14_224 beit_base_patch16_224 efficientvit_b0 nest_tiny fastvit_t8 sequencer2d_s
volo_d1_224 convit_tiny davit_tiny swinv2_tiny_window8_256
"""


def _sizes(text: str) -> dict[str, int]:
    pairs = (entry.split(":") for entry in text.split())
    return {name: int(size) for name, size in pairs}


SIZES: dict[str, int] = _sizes(_CONVOLUTIONS) | _sizes(_ATTENTION) | _sizes(_FURTHER)
"""Side of the picture by architecture: what runs in inference."""

TRAINED: tuple[str, ...] = tuple(_TRAINED.split())
"""The architectures that are trained as well."""
