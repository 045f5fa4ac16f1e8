import { bytesToBigInt, bytesToHex } from '../../primitives/bytes.ts'
import { RPC_CODES, RpcError } from '../errors.ts'
import { toQuantity } from '../format/quantity.ts'
import { defineMethod } from '../method.ts'
import { LATEST, readBlockNumberOrHash } from '../params/blockNumberOrHash.ts'
import { readAddress } from '../params/data.ts'
import { listReader } from '../params/object.ts'
import { readStorageSlot } from '../params/storageSlot.ts'
import { stateError, stateHeight } from './blockLookup.ts'

/** Slots that one proof may cover, as in geth. */
const MAX_SLOTS = 1024

const readKeys = listReader(readStorageSlot, '[]string')

/** Merkle proof of an account and slots of its storage (EIP-1186); exclusion proofs for what is absent. */
export const getProof = defineMethod({
  name: 'eth_getProof',
  queue: 'heavy',
  params: [readAddress, readKeys, readBlockNumberOrHash],
  required: 2,
  run: async ({ view }, address, keys, block = LATEST) => {
    if (keys.length > MAX_SLOTS) throw new RpcError(RPC_CODES.tooManySlots, `too many slots (max ${MAX_SLOTS})`)
    const height = stateHeight(view, block)
    const slots = keys.map(({ slot }) => slot)
    const proof = await view.proofAt(height, address, slots).catch((error: unknown) => {
      throw stateError(error)
    })
    return {
      address: bytesToHex(address),
      accountProof: proof.accountProof.map(bytesToHex),
      balance: toQuantity(proof.balance),
      codeHash: bytesToHex(proof.codeHash),
      nonce: toQuantity(proof.nonce),
      storageHash: bytesToHex(proof.storageRoot),
      storageProof: proof.storageProofs.map(({ slot, value, proof: nodes }, index) => ({
        // geth gives back the key as it was asked for
        key: keys[index]!.isWholeWord ? bytesToHex(slot) : toQuantity(bytesToBigInt(slot)),
        value: toQuantity(bytesToBigInt(value)),
        proof: nodes.map(bytesToHex),
      })),
    }
  },
})
