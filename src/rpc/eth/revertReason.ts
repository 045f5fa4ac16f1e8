import { revertReason } from '../../evm/revertReason.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { RPC_CODES, RpcError } from '../errors.ts'

/** The answer to a call that reverted: code 3, the reason when there is one, and always the revert data. */
export function revertError(data: Uint8Array): RpcError {
  const reason = revertReason(data)
  const message = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`
  return new RpcError(RPC_CODES.revert, message, bytesToHex(data))
}
