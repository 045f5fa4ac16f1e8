/** An error of the Cosmos SDK, which clients identify by codespace and code. An expected outcome, so it is a value. */
export class SdkError {
  readonly codespace: string
  /** never 0 */
  readonly code: number
  /** clients show it as raw_log; the same on every node, though no hash covers it */
  readonly message: string

  constructor(codespace: string, code: number, message: string) {
    this.codespace = codespace
    this.code = code
    this.message = message
  }
}

/** A value, or an error. */
export type Outcome<T> = T | SdkError

export function isSdkError(value: unknown): value is SdkError {
  return value instanceof SdkError
}

/** Errors of the root codespace (types/errors/errors.go): code and text. */
export const SDK_ERRORS = {
  txDecode: [2, 'tx parse error'],
  invalidSequence: [3, 'invalid sequence'],
  unauthorized: [4, 'unauthorized'],
  insufficientFunds: [5, 'insufficient funds'],
  unknownRequest: [6, 'unknown request'],
  invalidAddress: [7, 'invalid address'],
  invalidPubKey: [8, 'invalid pubkey'],
  unknownAddress: [9, 'unknown address'],
  invalidCoins: [10, 'invalid coins'],
  outOfGas: [11, 'out of gas'],
  memoTooLarge: [12, 'memo too large'],
  insufficientFee: [13, 'insufficient fee'],
  tooManySignatures: [14, 'maximum number of signatures exceeded'],
  noSignatures: [15, 'no signatures supplied'],
  invalidRequest: [18, 'invalid request'],
  txInMempoolCache: [19, 'tx already in mempool'],
  mempoolIsFull: [20, 'mempool is full'],
  txTooLarge: [21, 'tx too large'],
  keyNotFound: [22, 'key not found'],
  invalidSigner: [24, 'tx intended signer does not match the given signer'],
  invalidChainId: [28, 'invalid chain-id'],
  invalidType: [29, 'invalid type'],
  txTimeoutHeight: [30, 'tx timeout height'],
  unknownExtensionOptions: [31, 'unknown extension options'],
  wrongSequence: [32, 'incorrect account sequence'],
  packAny: [33, 'failed packing protobuf message to Any'],
  unpackAny: [34, 'failed unpacking protobuf message from Any'],
  logic: [35, 'internal logic error'],
  conflict: [36, 'conflict'],
  notSupported: [37, 'feature not supported'],
  notFound: [38, 'not found'],
  invalidGasLimit: [41, 'invalid gas limit'],
} as const

/** Makes an error of the root codespace, see {@link defineErrors}. */
export const sdkError = defineErrors('sdk', SDK_ERRORS)

/**
 * Declares the errors of a module: code and text under a name.
 * @returns a function that makes the error with a name; with a reason its message is
 * `reason: text`, as the SDK wraps it
 */
export function defineErrors<Name extends string>(
  codespace: string,
  errors: Readonly<Record<Name, readonly [code: number, text: string]>>,
): (name: Name, reason?: string) => SdkError {
  return (name, reason) => {
    const [code, text] = errors[name]
    return new SdkError(codespace, code, reason === undefined ? text : `${reason}: ${text}`)
  }
}
