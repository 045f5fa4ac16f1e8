import { mcl, readG1, readG2 } from './curves/bn254.ts'
import { PairingProduct } from './curves/pairingProduct.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'
import { toWord } from './toWord.ts'

const PAIR_LENGTH = 192

const product = new PairingProduct(mcl)

/** 0x08: whether a product of pairings of bn254 is one (EIP-197, gas of EIP-1108); of no pairs it is. */
export const bn254Pairing: StandardPrecompile = {
  gas: (input) => BigInt(45_000 + 34_000 * Math.floor(input.length / PAIR_LENGTH)),
  run(input) {
    if (input.length % PAIR_LENGTH !== 0) return 'bad elliptic curve pairing size'
    product.begin()
    for (let start = 0; start < input.length; start += PAIR_LENGTH) {
      const bad = readG1(input, start, product.nextG1) ?? readG2(input, start + 64, product.nextG2)
      if (bad !== undefined) return bad
      product.push()
    }
    return toWord(product.isOne())
  },
}
