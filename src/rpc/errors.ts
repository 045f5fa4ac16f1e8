/** A JSON-RPC error object's content. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  /** already in JSON form (hex strings) */
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** Codes of JSON-RPC 2.0, geth and EIP-1474 (only those that the node answers with). */
export const RPC_CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  server: -32000,
  timeout: -32002,
  responseTooLarge: -32003,
  limitExceeded: -32005,
  revert: 3,
  syncSendTimeout: 4,
  tooManySlots: -38026,
  prunedHistory: 4444,
} as const

/** An application error, code -32000. */
export function serverError(message: string): RpcError {
  return new RpcError(RPC_CODES.server, message)
}

/** A parameter's value is wrong; the dispatcher puts `invalid argument N: ` before `why` and answers -32602. */
export class InvalidArgument extends Error {
  override readonly name = 'InvalidArgument'
}
