/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the decoder tells the handler of a video instruction (PTX ISA, "Video Instructions"). */
#ifndef GPUSHARE_EMU_VIDEO_H
#define GPUSHARE_EMU_VIDEO_H

enum emu_video {
	EMU_VID_ADD,
	EMU_VID_SUB,
	EMU_VID_ABSDIFF,
	EMU_VID_MIN,
	EMU_VID_MAX,
	EMU_VID_AVRG,
	EMU_VID_SHL,
	EMU_VID_SHR,
	EMU_VID_SET,
	EMU_VID_MAD,
};
enum emu_video_second { EMU_VID2_NONE, EMU_VID2_ADD, EMU_VID2_MIN, EMU_VID2_MAX, EMU_VID2_MERGE };

/*
 * In emu_op: sub enum emu_video; boolop enum emu_video_second; vec the lanes,
 * 1, 2 or 4; type enum emu_cmp of vset; s[0..2] a, b, c; extra[0] the selectors of a
 * (a nibble a lane; scalar: the shift), [1] those of b, [2] the lanes of d to
 * write (merge: the shift in bits 8 on, the width from bit 16 on); extra[3]
 * EMU_VIDF_*, for a scalar one with the bits of its selections in 8 on (a) and
 * 16 on (b); imm: the scale of vmad.
 */
#define EMU_VIDF_A_SIGNED 1
#define EMU_VIDF_B_SIGNED 2
#define EMU_VIDF_D_SIGNED 4
#define EMU_VIDF_SAT 8
#define EMU_VIDF_WRAP 16 /* of a shift's count; otherwise it is clamped */
#define EMU_VIDF_NEG_PRODUCT 32
#define EMU_VIDF_NEG_C 64
#define EMU_VIDF_PLUS_ONE (1 << 24)

#endif
