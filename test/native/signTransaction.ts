import { coinsOf } from '../../src/modules/coin.ts'
import { addressOf, type SigningKey, signTransaction } from '../../src/modules/tx/signTransaction.ts'
import { type Address, toBech32 } from '../../src/primitives/address.ts'
import { bigIntToBytes } from '../../src/primitives/bytes.ts'
import { sha256 } from '../../src/primitives/hash.ts'
import type { AnyValue, MessageType } from '../../src/primitives/protoSchema.ts'

export const TEST_CHAIN = { chainId: 'coin_76287-1', evmChainId: 76_287n } as const

/** An account of tests. */
interface TestAccount {
  readonly privateKey: Uint8Array
  readonly address: Address
  /** `coin1…` */
  readonly bech32: string
  /** `coinvaloper1…` */
  readonly operator: string
}

/** Those that were made: a public key takes a millisecond, and tests make a few accounts thousands of times. */
const accounts = new Map<string, TestAccount>()

/** The same account for the same number. */
export function testAccount(number: number, kind: SigningKey['kind'] = 'ethSecp256k1'): TestAccount {
  const name = `${kind} ${number}`
  const known = accounts.get(name)
  if (known !== undefined) return known
  const privateKey = sha256(bigIntToBytes(BigInt(number), 32))
  const address = addressOf({ privateKey, kind: kind ?? 'ethSecp256k1' })
  const account = { privateKey, address, bech32: toBech32(address), operator: toBech32(address, 'coinvaloper') }
  accounts.set(name, account)
  return account
}

/** A message with the type URL around it; what is left out is zero. */
export function anyOf<T>(type: MessageType<T>, value: Partial<T>): AnyValue {
  return { typeUrl: type.typeUrl, value: type.encode(type.create(value)) }
}

/** What a transaction in a test says; the rest has defaults. */
export interface TestTransaction {
  readonly messages: readonly AnyValue[]
  /** the messages' signers in their order; by default eth_secp256k1 keys */
  readonly signers: readonly (Pick<SigningKey, 'privateKey' | 'kind'> & { readonly sequence?: bigint | number })[]
  readonly gasLimit?: bigint
  readonly feeAcoin?: bigint
  readonly memo?: string
  readonly timeoutHeight?: bigint
  readonly extensionOptions?: readonly AnyValue[]
  readonly feePayer?: string
  readonly feeGranter?: string
  readonly chainId?: string
}

/** Enough for any message of the tests. */
export const TEST_GAS = 1_000_000n

/**
 * Signs a native transaction in SIGN_MODE_DIRECT and gives the bytes of its TxRaw.
 * @param transaction.feeAcoin by default a base fee of 1 gwei for all gas
 */
export function signTestTransaction(transaction: TestTransaction): Uint8Array {
  const {
    signers,
    gasLimit = TEST_GAS,
    feeAcoin = gasLimit * 10n ** 9n,
    chainId = TEST_CHAIN.chainId,
    ...rest
  } = transaction
  const keys = signers.map(({ sequence = 0n, ...key }) => ({ ...key, sequence: BigInt(sequence) }))
  return signTransaction({ ...rest, gasLimit, fee: coinsOf(feeAcoin) }, keys, chainId)
}
