// The fields of both curves. `IS_BN254` is a constant of the build (scripts/buildEngine.js): the sources of this directory are compiled
// once for bn254 and once for BLS12-381, and what is behind a constant condition is left out.

/** Limbs of an element and their bits. */
export const LIMBS: usize = IS_BN254 ? 10 : 14
export const LIMB_BITS: i32 = IS_BN254 ? 27 : 28

/** Bytes of an element as an integer. */
export const BYTES: usize = IS_BN254 ? 32 : 48

/** −1 / modulus, modulo 2^LIMB_BITS. */
export const NEGATED_INVERSE: u32 = IS_BN254 ? 0x4866389 : 0xffcfffd

/** ESTIMATE / 2^ESTIMATE_SHIFT is a little less than 2^243 / modulus, or 2^364 / modulus: the weight of the highest limb. */
export const ESTIMATE: i32 = IS_BN254 ? 1354 : 39
export const ESTIMATE_SHIFT: i32 = IS_BN254 ? 21 : 22

export const modulusLimbs = IS_BN254
  ? memory.data<u32>(
      [0x7cfd47, 0x41182db, 0x72a34f0, 0x548b438, 0x5d97816, 0x50302b0, 0x614116d, 0x18d014d, 0x44e72e1, 0x60c],
      16,
    )
  : memory.data<u32>(
      [
        0xfffaaab, 0xfefffff, 0x3ffffb9, 0xfffeb15, 0x6241eab, 0xa0f6b0f, 0xf6730d2, 0xf38512b, 0x4774b84, 0x4bacd76,
        0xba7b643, 0xe69a4b1, 0x1ea397f, 0x1a011,
      ],
      16,
    )
/** R² modulo the modulus. */
export const squaredRLimbs = IS_BN254
  ? memory.data<u32>(
      [0x653b794, 0x5b6a505, 0x57b4490, 0x2b9980f, 0x26a3522, 0x53a9c75, 0x4d5836a, 0x5b35094, 0x5816d51, 0x1a2],
      16,
    )
  : memory.data<u32>(
      [
        0x10370ed, 0x6d1c345, 0xe243d62, 0xec45c53, 0x3b1d65a, 0x93317d, 0xb4f36a0, 0x5d74088, 0xc10ea72, 0x865d118,
        0x7320a75, 0xfd5cd50, 0xcc8a759, 0xc8d4,
      ],
      16,
    )
/** R less the modulus: adding it times q, and dropping what is above R, subtracts q times the modulus. */
export const complementLimbs = IS_BN254
  ? memory.data<u32>(
      [0x78302b9, 0x3ee7d24, 0xd5cb0f, 0x2b74bc7, 0x22687e9, 0x2fcfd4f, 0x1ebee92, 0x672feb2, 0x3b18d1e, 0x7fff9f3],
      16,
    )
  : memory.data<u32>(
      [
        0x5555, 0x100000, 0xc000046, 0x14ea, 0x9dbe154, 0x5f094f0, 0x98cf2d, 0xc7aed4, 0xb88b47b, 0xb453289, 0x45849bc,
        0x1965b4e, 0xe15c680, 0xffe5fee,
      ],
      16,
    )
/** 32 times the modulus in limbs that are so large that subtracting a loose number from them leaves none negative. */
export const minuendLimbs = IS_BN254
  ? memory.data<u32>(
      [
        0x479fa8e0, 0x42305b59, 0x45469e08, 0x41168714, 0x432f02cd, 0x4060560f, 0x42822dac, 0x41a029b0, 0x41ce5c1e,
        0xc189,
      ],
      16,
    )
  : memory.data<u32>(
      [
        0x4ff55560, 0x4dfffffb, 0x4ffff73b, 0x4ffd62a3, 0x4483d57b, 0x41ed61e8, 0x4ce61a50, 0x470a257a, 0x4ee9709a,
        0x4759aec4, 0x44f6c865, 0x4d349633, 0x4d472ff8, 0x34021f,
      ],
      16,
    )

/** The non-residue ξ that Fp12 is built with is NON_RESIDUE + u. */
export const NON_RESIDUE: i32 = IS_BN254 ? 9 : 1

/** (p − 1)/6, big-endian. */
export const sixth = IS_BN254
  ? memory.data<u8>([
      0x08, 0x10, 0xb7, 0xbd, 0xd0, 0x32, 0xf0, 0x06, 0xf4, 0x0d, 0x60, 0xf3, 0xc0, 0x40, 0x39, 0x64, 0xee, 0x95, 0x91,
      0xc2, 0xe6, 0xbd, 0xa1, 0xc2, 0x34, 0xb0, 0x17, 0x59, 0x24, 0x14, 0xd4, 0xe1,
    ])
  : memory.data<u8>([
      0x04, 0x55, 0x82, 0xfc, 0x5e, 0xea, 0xa6, 0x6f, 0x0c, 0x84, 0x9b, 0xf3, 0xb5, 0xe1, 0xf2, 0x23, 0xe6, 0x13, 0xe1,
      0xeb, 0x7d, 0xeb, 0x83, 0x1f, 0xe6, 0x88, 0x23, 0x1a, 0xd3, 0xc8, 0x29, 0x06, 0x05, 0x1c, 0xaa, 0xaa, 0x72, 0xe3,
      0x55, 0x55, 0x49, 0xaa, 0x7f, 0xff, 0xff, 0xff, 0xf1, 0xc7,
    ])

/** The parameter x that modulus, order and trace are polynomials of; of BLS12-381 it is |x|, as x is negative. */
export const X_PARAMETER: u64 = IS_BN254 ? 0x44e992b44a6909f1 : 0xd201000000010000
/**
 * The length of the Miller loop, 2^LOOP_TOP + LOOP_ADDED − LOOP_SUBTRACTED: |x| of BLS12-381 as it is, and 6x + 2 of bn254 in non-adjacent form,
 * which has a third fewer additions.
 */
export const LOOP_TOP: i32 = IS_BN254 ? 65 : 63
export const LOOP_ADDED: u64 = IS_BN254 ? 0x2002004200804028 : 0x5201000000010000
export const LOOP_SUBTRACTED: u64 = IS_BN254 ? 0x82889008420a0480 : 0
/** The constant b of the curve of G1, y² = x³ + b. */
export const CURVE_CONSTANT: i32 = IS_BN254 ? 3 : 4
