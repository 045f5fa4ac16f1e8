import type { CustomCrypto } from '@ethereumjs/common'
import { type EVMBLSInterface, type EVMBN254Interface, MCLBLS, RustBN254 } from '@ethereumjs/evm'
import mcl from 'mcl-wasm'
import { initRustBN } from 'rustbn-wasm'
import { bytesToBigInt, hexToBytes, padLeft } from '../primitives/bytes.ts'
import { keccak256, sha256 } from '../primitives/hash.ts'
import { recoverPublicKey } from '../primitives/secp256k1.ts'
import { verifyPointEvaluation } from './pointEvaluation.ts'

/** The arithmetic that @ethereumjs/evm is given in place of its slow defaults. */
export interface EVMCrypto {
  readonly custom: CustomCrypto
  readonly bls: EVMBLSInterface
  readonly bn254: EVMBN254Interface
}

await mcl.init(mcl.BLS12_381)
const bls = new MCLBLS(mcl)
bls.init()
const bn254 = new RustBN254(await initRustBN())

/** Only point evaluation is asked of it by the EVM. */
function unusedByEVM(): never {
  throw new Error('the EVM verifies single KZG proofs only')
}

/** WebAssembly keccak and sha256, native secp256k1, WebAssembly BLS12-381 (mcl) and bn254 (rust). */
export const evmCrypto: EVMCrypto = {
  bls,
  bn254,
  custom: {
    keccak256,
    sha256,
    ecrecover(digest, v, r, s) {
      // v is the parity, 27 or 28, or EIP-155's, which is odd for parity 0 as 27 is
      const recovery = (v > 1n ? v - 27n : v) % 2n === 1n ? 1 : 0
      const publicKey = recoverPublicKey(digest, recovery, bytesToBigInt(padLeft(r, 32)), bytesToBigInt(padLeft(s, 32)))
      if (publicKey === undefined) throw new Error('no public key signed this')
      return publicKey
    },
    kzg: {
      verifyProof: (commitment, z, y, proof) =>
        verifyPointEvaluation(bls, hexToBytes(commitment), hexToBytes(z), hexToBytes(y), hexToBytes(proof)),
      blobToKzgCommitment: unusedByEVM,
      computeBlobProof: unusedByEVM,
      verifyBlobProofBatch: unusedByEVM,
      computeCells: unusedByEVM,
      computeCellsAndProofs: unusedByEVM,
      recoverCellsAndProofs: unusedByEVM,
      verifyCellKzgProofBatch: unusedByEVM,
    },
  },
}
