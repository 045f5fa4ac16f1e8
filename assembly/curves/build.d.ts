/** Whether the curve is bn254, not BLS12-381: a constant that scripts/buildEngine.js passes to the compiler. */
declare const IS_BN254: bool
