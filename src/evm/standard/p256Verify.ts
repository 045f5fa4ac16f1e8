import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { verifyP256 } from './curves/p256.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'
import { toWord } from './toWord.ts'

/** 0x100: verifies an ECDSA signature over P-256 (EIP-7951). What does not verify gives no bytes. */
export const p256Verify: StandardPrecompile = {
  gas: () => 6_900n,
  run: (input) => (input.length === 160 && verifyP256(input) ? toWord(true) : EMPTY_BYTES),
}
