import { G1_LENGTH, G2_LENGTH, mcl, readG1OfOrder, readG2OfOrder } from './curves/bls12381.ts'
import { PairingProduct } from './curves/pairingProduct.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'
import { toWord } from './toWord.ts'

const PAIR_LENGTH = G1_LENGTH + G2_LENGTH

const product = new PairingProduct(mcl)

/** 0x0f: whether a product of pairings of BLS12-381 is one (EIP-2537). */
export const bls12Pairing: StandardPrecompile = {
  gas: (input) => BigInt(37_700 + 32_600 * Math.floor(input.length / PAIR_LENGTH)),
  run(input) {
    if (input.length === 0 || input.length % PAIR_LENGTH !== 0) return 'invalid input length'
    product.begin()
    for (let start = 0; start < input.length; start += PAIR_LENGTH) {
      const bad = readG1OfOrder(input, start, product.nextG1) ?? readG2OfOrder(input, start + G1_LENGTH, product.nextG2)
      if (bad !== undefined) return bad
      product.push()
    }
    return toWord(product.isOne())
  },
}
