import type { NativeResult } from '../../chain/block/entries.ts'
import type { TransactionWorld } from '../../evm/transition.ts'
import { AUTH_PARAMS } from '../auth/params.ts'
import { BASE_DENOM } from '../coin.ts'
import type { NativeBlock } from '../context.ts'
import { isSdkError, type Outcome } from '../sdkError.ts'
import { findNativeInvalidity, MAX_METERED_GAS, outOfGas, runTransaction } from './applyNativeTransaction.ts'
import type { DecodedTransaction } from './nativeTransaction.ts'
import { baseGas, type NativeSigner, type NativeTransaction, requiredGas } from './nativeTransaction.ts'
import { EthSecp256k1PubKey } from './publicKey.ts'
import type { TransactionDecoder } from './transactionDecoder.ts'
import { AuthInfo, SIGN_MODES, type SignerInfo, TxRaw } from './types.ts'

/** The length of a signature, which wallets leave empty when they simulate. */
const SIGNATURE_BYTES = 64

/** Limits of a simulation. */
export interface SimulationGas {
  /** gas that a block has for native transactions: one that has to pay more is never in a block */
  readonly lane: bigint
  /** gas that a client's call may use */
  readonly call: bigint
}

/**
 * Runs a transaction as it would run in `block`; signatures, gas limit and fee may be missing. Its gas is what the signed
 * transaction will use: what is missing is counted as if it were there. It uses no more than a block and a client's call allow.
 * @param input.world is thrown away afterwards
 */
export function simulateNative(
  raw: Uint8Array,
  input: {
    readonly world: TransactionWorld
    readonly block: NativeBlock
    readonly baseFeePerGas: bigint
    readonly gasCap: SimulationGas
    readonly decoder: Pick<TransactionDecoder, 'decodeForSimulation'>
  },
): Outcome<NativeResult> {
  const { world, block, decoder, gasCap } = input
  world.setTime(Math.floor(block.timeMs / 1000))
  const read = decoder.decodeForSimulation(raw)
  if (isSdkError(read)) return read
  const { decoded, transaction: given } = read
  const params = AUTH_PARAMS.get(world.native)
  // The gas depends on the number of digits of the fee, and the fee on the gas: two rounds are enough.
  const estimated = requiredGas(given, params)
  const tooMuch = outOfGas('simulation', gasCap.lane < gasCap.call ? gasCap.lane : gasCap.call, estimated)
  if (tooMuch !== undefined) return tooMuch
  const first = completeTransaction(decoded, given, estimated, input.baseFeePerGas)
  const estimate = requiredGas({ ...given, raw: first }, params)
  const completed = completeTransaction(decoded, given, estimate, input.baseFeePerGas)
  const transaction = { ...given, raw: completed }
  // A wallet does not know fee and limit yet: without a fee it pays nothing, without a limit it gets all the gas it needs.
  const baseFeePerGas = given.feeAcoin === 0n ? 0n : input.baseFeePerGas
  const isUnlimited = given.gasLimit === 0n
  const least = isUnlimited ? requiredGas(transaction, params) : given.gasLimit
  const limited = { ...transaction, gasLimit: least }
  const reason = findNativeInvalidity({ transaction: limited, world, block, baseFeePerGas })
  if (reason !== undefined) return reason
  // Work that depends on the state can make it use more than it has to pay in any case.
  const wanted = isUnlimited ? least + MAX_METERED_GAS : least
  const run = { ...transaction, gasLimit: wanted < gasCap.call ? wanted : gasCap.call }
  const outcome = runTransaction({ transaction: run, world, block, baseFeePerGas }, baseGas(limited, params))
  if (outcome.kind === 'skipped') return outcome.error
  const { result } = outcome
  return { ...result, gasWanted: isUnlimited && result.gasUsed > least ? result.gasUsed : least }
}

/** The bytes that the transaction will have once it is signed: with signatures, sign modes, a gas limit and a fee. */
function completeTransaction(
  { txRaw, authInfo, fee }: DecodedTransaction,
  { signers }: NativeTransaction,
  gas: bigint,
  baseFeePerGas: bigint,
): Uint8Array {
  const gasLimit = fee.gasLimit === 0n ? gas : fee.gasLimit
  const amount = fee.amount.length === 0 ? [{ denom: BASE_DENOM, amount: gasLimit * baseFeePerGas }] : fee.amount
  const completed = AuthInfo.encode({
    ...authInfo,
    signerInfos: authInfo.signerInfos.map((info, index) => completeSigner(info, signers[index]!)),
    fee: { ...fee, gasLimit, amount },
  })
  const signatures = txRaw.signatures.map((signature) =>
    signature.length === 0 ? new Uint8Array(SIGNATURE_BYTES) : signature,
  )
  return TxRaw.encode({ bodyBytes: txRaw.bodyBytes, authInfoBytes: completed, signatures })
}

/** The signer's info with a sign mode, and with the type of key that the account's signature will need. */
function completeSigner(info: SignerInfo, signer: NativeSigner): SignerInfo {
  const publicKey =
    info.publicKey === undefined || signer.publicKey !== undefined
      ? info.publicKey
      : { ...info.publicKey, typeUrl: EthSecp256k1PubKey.typeUrl }
  const { single, multi } = info.modeInfo ?? {}
  const isKnown = multi !== undefined || (single?.mode ?? SIGN_MODES.SIGN_MODE_UNSPECIFIED) !== 0
  const modeInfo = isKnown ? info.modeInfo : { single: { mode: SIGN_MODES.SIGN_MODE_DIRECT }, multi: undefined }
  return { ...info, publicKey, modeInfo }
}
