import { type Address, ZERO_ADDRESS } from '../../src/primitives/address.ts'
import {
  bytesKey,
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  EMPTY_BYTES,
  equalBytes,
  hexToBytes,
} from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import type { Receipt } from '../node/answers.ts'
import { TOKEN_KINDS } from './tables.ts'

/** Tokens that a log says have moved. */
export interface TokenTransfer {
  readonly token: Address
  /** see {@link TOKEN_KINDS} */
  readonly kind: number
  /** undefined: minted */
  readonly sender: Address | undefined
  /** undefined: burnt */
  readonly recipient: Address | undefined
  readonly amount: bigint
  /** 32 bytes; none of an ERC-20 token */
  readonly id: Uint8Array
}

type Log = Receipt['logs'][number]

const topicOf = (signature: string): string => bytesToHex(keccak256(Buffer.from(signature)))
const TRANSFER = topicOf('Transfer(address,address,uint256)')
const TRANSFER_SINGLE = topicOf('TransferSingle(address,address,address,uint256,uint256)')
const TRANSFER_BATCH = topicOf('TransferBatch(address,address,address,uint256[],uint256[])')
const DEPOSIT = topicOf('Deposit(address,uint256)')
const WITHDRAWAL = topicOf('Withdrawal(address,uint256)')

/** The precompile whose ERC-20 balances are the coins of accounts: they are indexed as coins. */
const COIN_TOKEN = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'
const WORD = 32
/** The first bytes of a topic that holds an address. */
const ADDRESS_PREFIX = `0x${'00'.repeat(12)}`

/**
 * Reads the transfers of tokens from the logs of one transaction, in their order: events of ERC-20, ERC-721 and ERC-1155, and deposits and
 * withdrawals of tokens like WETH9, which mint and burn without a Transfer. Any contract may emit anything, so logs that differ from
 * their standard are ignored.
 */
export function tokenTransfers(logs: readonly Log[]): readonly TokenTransfer[] {
  const tokenLogs = logs.filter(({ address }) => address !== COIN_TOKEN)
  const transfers = tokenLogs.map(readTransfers)
  if (!tokenLogs.some(isWrapping)) return transfers.flat()
  // A wrapper of coins may emit Transfer in addition to Deposit and Withdrawal: two logs of one movement.
  const told = new Set(transfers.flat().map(({ token, sender, recipient }) => sidesKey(token, sender, recipient)))
  return transfers.flatMap((own, index) => {
    const wrapped = own.length === 0 ? readWrapping(tokenLogs[index]!) : undefined
    if (wrapped === undefined) return own
    return told.has(sidesKey(wrapped.token, wrapped.sender, wrapped.recipient)) ? [] : [wrapped]
  })
}

function sidesKey(token: Address, sender: Address | undefined, recipient: Address | undefined): string {
  return bytesKey(concatBytes(token, sender ?? ZERO_ADDRESS, recipient ?? ZERO_ADDRESS))
}

function readTransfers(log: Log): readonly TokenTransfer[] {
  const { topics } = log
  switch (topics[0]) {
    case TRANSFER:
      return readTransfer(log)
    case TRANSFER_SINGLE: {
      const data = hexToBytes(log.data)
      if (topics.length !== 4 || data.length !== 2 * WORD) return []
      return transferOf(log, 'erc1155', [topics[2]!, topics[3]!], wordAt(data, 1), data.subarray(0, WORD))
    }
    case TRANSFER_BATCH: {
      if (topics.length !== 4) return []
      const data = hexToBytes(log.data)
      const [ids, amounts] = [readWords(data, 0), readWords(data, 1)]
      if (ids === undefined || amounts?.length !== ids.length) return []
      return ids.flatMap((id, index) =>
        transferOf(log, 'erc1155', [topics[2]!, topics[3]!], bytesToBigInt(amounts[index]!), id),
      )
    }
    default:
      return []
  }
}

/** ERC-20 and ERC-721 have the same event, except that the number is indexed in one. */
function readTransfer(log: Log): readonly TokenTransfer[] {
  const { topics } = log
  const data = hexToBytes(log.data)
  const sides = [topics[1] ?? '', topics[2] ?? ''] as const
  if (topics.length === 3 && data.length === WORD) return transferOf(log, 'erc20', sides, wordAt(data, 0), EMPTY_BYTES)
  if (topics.length === 4 && data.length === 0) return transferOf(log, 'erc721', sides, 1n, hexToBytes(topics[3]!))
  return []
}

function transferOf(
  { address }: Log,
  kind: keyof typeof TOKEN_KINDS,
  sides: readonly [string, string],
  amount: bigint,
  id: Uint8Array,
): readonly TokenTransfer[] {
  const [sender, recipient] = sides.map(accountIn)
  if (sender === undefined || recipient === undefined) return []
  return [
    {
      token: hexToBytes(address),
      kind: TOKEN_KINDS[kind],
      sender: unlessZero(sender),
      recipient: unlessZero(recipient),
      amount,
      id,
    },
  ]
}

function isWrapping({ topics }: Log): boolean {
  return (topics[0] === DEPOSIT || topics[0] === WITHDRAWAL) && topics.length === 2
}

/** A deposit mints and a withdrawal burns. */
function readWrapping(log: Log): TokenTransfer | undefined {
  const { topics } = log
  if (!isWrapping(log)) return undefined
  const data = hexToBytes(log.data)
  const account = accountIn(topics[1]!)
  if (data.length !== WORD || account === undefined) return undefined
  const [sender, recipient] = topics[0] === DEPOSIT ? [undefined, account] : [account, undefined]
  return {
    token: hexToBytes(log.address),
    kind: TOKEN_KINDS.erc20,
    sender,
    recipient,
    amount: wordAt(data, 0),
    id: EMPTY_BYTES,
  }
}

/** The address in a topic; undefined when the topic is more than an address. */
function accountIn(topic: string): Address | undefined {
  return topic.startsWith(ADDRESS_PREFIX) ? hexToBytes(topic.slice(ADDRESS_PREFIX.length)) : undefined
}

function unlessZero(address: Address): Address | undefined {
  return equalBytes(address, ZERO_ADDRESS) ? undefined : address
}

function wordAt(data: Uint8Array, index: number): bigint {
  return bytesToBigInt(data.subarray(index * WORD, (index + 1) * WORD))
}

/** The words of the array whose place is at word `index` of ABI-encoded data; undefined when the array does not fit in the data. */
function readWords(data: Uint8Array, index: number): readonly Uint8Array[] | undefined {
  if (data.length < (index + 1) * WORD) return undefined
  const place = wordAt(data, index)
  if (place + BigInt(WORD) > BigInt(data.length)) return undefined
  const start = Number(place) + WORD
  const length = bytesToBigInt(data.subarray(start - WORD, start))
  if (length > BigInt(Math.floor((data.length - start) / WORD))) return undefined
  return Array.from({ length: Number(length) }, (_, at) => data.subarray(start + at * WORD, start + (at + 1) * WORD))
}
