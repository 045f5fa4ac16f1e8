import { BECH32_ACCOUNT, BECH32_OPERATOR, findAddress, toBech32 } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { ProtobufError } from '../../primitives/protobuf.ts'
import { type AnyValue, decodeContent, type MessageType } from '../../primitives/protoSchema.ts'
import { bankError } from '../bank/errors.ts'
import { type Coin, coinsText, isValidDenom, subtractCoins } from '../coin.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { authzError } from './errors.ts'
import { GenericAuthorization, SendAuthorization, StakeAuthorization } from './types.ts'

/** A grantee's right to act in the granter's name, read from its protobuf form. */
interface Authorization {
  /** the type of messages that it allows */
  readonly msgTypeUrl: string
  /** number of entries in its lists; every use reads them */
  readonly entries: number
  /** Returns the error of an authorization that is invalid in any state (ValidateBasic). */
  validate(): SdkError | undefined
  /**
   * Returns the authorization after an allowed message, undefined when it is used up; an error for
   * a message that is not allowed.
   */
  accept(message: unknown): Outcome<AnyValue | undefined>
}

/**
 * The most bytes of an authorization: every use reads and may write it. The SDK has no such bound.
 */
const MAX_AUTHORIZATION_BYTES = 4_096

/**
 * The most coins, or addresses, in a list of an authorization: every use reads them all. The SDK
 * has no such bound.
 */
const MAX_ENTRIES = 64

/** Returns the error of an authorization that is invalid in any state, before it is granted. */
export function checkAuthorization(granted: AnyValue | undefined): SdkError | undefined {
  if (granted !== undefined && granted.value.length > MAX_AUTHORIZATION_BYTES) {
    return sdkError('invalidRequest', `the authorization has more than ${MAX_AUTHORIZATION_BYTES} bytes`)
  }
  const authorization = readAuthorization(granted)
  return isSdkError(authorization) ? authorization : authorization.validate()
}

/** Reads a granted authorization. */
export function readAuthorization(granted: AnyValue | undefined): Outcome<Authorization> {
  if (granted === undefined) return sdkError('invalidType', 'authorization is nil')
  const read = AUTHORIZATIONS.get(granted.typeUrl)
  if (read === undefined) return sdkError('txDecode', `unable to resolve type URL ${granted.typeUrl}`)
  try {
    return read(granted)
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return sdkError('txDecode', `${granted.typeUrl}: ${error.message}`)
  }
}

const AUTHORIZATIONS = new Map<string, (granted: AnyValue) => Outcome<Authorization>>([
  [GenericAuthorization.typeUrl, generic],
  [SendAuthorization.typeUrl, (granted) => send(decodeContent(SendAuthorization, granted))],
  [StakeAuthorization.typeUrl, (granted) => stake(decodeContent(StakeAuthorization, granted))],
])

/** x/authz/generic_authorization.go */
function generic(granted: AnyValue): Authorization {
  return {
    msgTypeUrl: decodeContent(GenericAuthorization, granted).msg,
    entries: 0,
    validate: () => undefined,
    accept: () => granted,
  }
}

/** x/bank/types/send_authorization.go */
function send(granted: SendAuthorization): Authorization {
  const { spendLimit, allowList } = granted
  return {
    msgTypeUrl: '/cosmos.bank.v1beta1.MsgSend',
    entries: spendLimit.length + allowList.length,
    validate: () => {
      if (spendLimit.length === 0) return sdkError('invalidCoins', 'spend limit cannot be nil')
      const unusable = checkLength(spendLimit) ?? checkAddresses(allowList, BECH32_ACCOUNT)
      if (unusable !== undefined) return unusable
      if (!areSpendable(spendLimit)) return sdkError('invalidCoins', 'spend limit must be positive')
      if (new Set(allowList).size !== allowList.length) return bankError('duplicateEntry')
      return undefined
    },
    accept: (message) => {
      const { toAddress, amount } = message as { readonly toAddress: string; readonly amount: readonly Coin[] }
      const left = subtractCoins(spendLimit, amount)
      if (left === undefined) return sdkError('insufficientFunds', 'requested amount is more than spend limit')
      if (allowList.length > 0 && !includes(allowList, toAddress, BECH32_ACCOUNT)) {
        return sdkError('unauthorized', `cannot send to ${toAddress} address`)
      }
      return left.length === 0 ? undefined : pack(SendAuthorization, { spendLimit: left, allowList })
    },
  }
}

const STAKE_MESSAGES: readonly (string | undefined)[] = [
  undefined,
  '/cosmos.staking.v1beta1.MsgDelegate',
  '/cosmos.staking.v1beta1.MsgUndelegate',
  '/cosmos.staking.v1beta1.MsgBeginRedelegate',
  '/cosmos.staking.v1beta1.MsgCancelUnbondingDelegation',
]

/** x/staking/types/authz.go */
function stake(granted: StakeAuthorization): Outcome<Authorization> {
  const msgTypeUrl = STAKE_MESSAGES[granted.authorizationType]
  if (msgTypeUrl === undefined) return authzError('unknownType')
  const { maxTokens, allowList, denyList } = granted
  return {
    msgTypeUrl,
    entries: (allowList?.address.length ?? 0) + (denyList?.address.length ?? 0),
    validate: () => {
      // Members of one oneof: a client that reads the grant would find only one of them, or none.
      if (allowList !== undefined && denyList !== undefined) {
        return sdkError('invalidRequest', 'validators are either allowed or denied')
      }
      const unusable = checkAddresses((allowList ?? denyList)?.address ?? [], BECH32_OPERATOR)
      if (unusable !== undefined) return unusable
      if (maxTokens === undefined || maxTokens.amount >= 0n) return undefined
      return authzError('negativeMaxTokens', `negative coin amount: ${coinsText([maxTokens])}`)
    },
    accept: (message) => {
      const { validatorAddress, validatorDstAddress, amount } = message as {
        readonly validatorAddress?: string
        readonly validatorDstAddress?: string
        readonly amount: Coin | undefined
      }
      const validator = validatorDstAddress ?? validatorAddress ?? ''
      const allowed = allowList?.address ?? []
      const isDenied = includes(denyList?.address ?? [], validator, BECH32_OPERATOR)
      if (isDenied || (allowed.length > 0 && !includes(allowed, validator, BECH32_OPERATOR))) {
        return sdkError('unauthorized', `cannot delegate/undelegate to ${validator} validator`)
      }
      if (maxTokens === undefined) return pack(StakeAuthorization, granted)
      const left = subtractCoins([maxTokens], amount === undefined ? [] : [amount])
      if (left === undefined) return sdkError('invalidCoins', 'negative coin amount')
      return left.length === 0 ? undefined : pack(StakeAuthorization, { ...granted, maxTokens: left[0]! })
    },
  }
}

function pack<T>(type: MessageType<T>, value: T): AnyValue {
  return { typeUrl: type.typeUrl, value: type.encode(value) }
}

function areSpendable(coins: readonly Coin[]): boolean {
  return coins.every(({ denom, amount }) => isValidDenom(denom) && amount > 0n)
}

function checkLength(list: readonly unknown[]): SdkError | undefined {
  if (list.length <= MAX_ENTRIES) return undefined
  return sdkError('invalidRequest', `a list of an authorization has ${list.length} entries, at most ${MAX_ENTRIES}`)
}

/** The SDK allows any texts; here an entry that can never match is refused when it is granted. */
function checkAddresses(list: readonly string[], prefix: string): SdkError | undefined {
  const tooLong = checkLength(list)
  if (tooLong !== undefined) return tooLong
  const invalid = list.find((entry) => findAddress(entry, prefix) === undefined)
  return invalid === undefined ? undefined : sdkError('invalidAddress', `${invalid} is not an address of the list`)
}

/** Whether a list of addresses has one, whatever encodings they are in. An address has one bech32 and one hex text in lower case. */
function includes(list: readonly string[], text: string, prefix: string): boolean {
  const address = findAddress(text, prefix)
  if (address === undefined) return false
  const [words, digits] = [toBech32(address, prefix), bytesToHex(address)]
  return list.some((entry) => {
    const lower = entry.toLowerCase()
    return lower === words || lower === digits
  })
}
