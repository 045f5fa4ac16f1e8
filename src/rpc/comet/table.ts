/** Parameters by name (query string, JSON object) or by position (JSON array). */
export type CometParams = Readonly<Record<string, unknown>> | readonly unknown[]

/** One method of CometBFT's RPC, under GET /rpc/<name> and POST /rpc. The result is JSON-ready. */
export interface CometMethod {
  readonly name: string
  /** @throws CometError */
  run(params: CometParams): unknown
}

export type CometTable = ReadonlyMap<string, CometMethod>

/** CometBFT's error object (rpc/jsonrpc/types): a fixed message for each code, the reason in `data`. */
export class CometError extends Error {
  override readonly name = 'CometError'
  readonly code: number
  readonly data: string

  constructor(code: number, message: string, data: string) {
    super(message)
    this.code = code
    this.data = data
  }
}

export function createCometTable(methods: readonly CometMethod[]): CometTable {
  return new Map(methods.map((method) => [method.name, method]))
}
