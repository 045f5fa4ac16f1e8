import type { ValueTransfer } from '../../chain/entries.ts'
import type { Log } from '../../chain/receipt.ts'
import type { AppliedTransaction } from '../../evm/transition.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesKeyOf, bytesToBigInt, equalBytes, writeBigInt } from '../../primitives/bytes.ts'
import { decodeAccount } from '../../state/flatState.ts'
import type { AdoptedChanges, Journal } from '../../state/journal.ts'
import { type Account, equalAccounts } from '../../state/reader.ts'
import { Column } from '../../storage/columns.ts'
import { NoRoom, type TableResult } from './versionTable.ts'

/** Something that an execution read of the state before it. */
export interface Read {
  readonly address: Address
  /** of a slot */
  readonly slot?: Uint8Array
  /** it was the number of the account's slots that are set */
  readonly isSlotCount?: true
  /** the flat entry that an entry of the block has written; undefined: it was the parent's state */
  readonly value?: Uint8Array
}

/** An EVM transaction that was executed before its turn, on a guess of the state before it; its changes are versions of the table. */
interface Speculation {
  readonly reads: readonly Read[]
  readonly outcome: SpeculatedOutcome
  /** gas that it used of the block's precompile gas; no call came upon the limit */
  readonly precompileGas: bigint
  /** who called and was called, where that is indexed */
  readonly parties: readonly Address[]
}

/** It destroyed no coins, and emitted no native events. */
type SpeculatedOutcome = Pick<
  AppliedTransaction,
  'status' | 'gasUsed' | 'effectiveGasPrice' | 'logs' | 'transfers' | 'createdAddress' | 'fees' | 'blobGasUsed'
>

/**
 * Makes the changes of a speculation if everything that it read has the same value in this world, and the block has the precompile gas that it
 * used. Then they and the outcome are those of an execution here and now, which depends on nothing else but the block, and on the gas
 * that the block has left for the whole transaction.
 * @returns undefined when it is not so: then nothing has changed
 */
export function adoptSpeculation(
  result: TableResult,
  world: Journal,
  precompileGasLeft: bigint,
): Omit<Speculation, 'reads'> | undefined {
  const input = new Reader(result.table.bytes, result.rest)
  const precompileGas = input.integer()
  if (precompileGas > precompileGasLeft) return undefined
  for (let count = input.number(); count > 0; count--) if (!isNextReadCurrent(input, world)) return undefined
  const rest = readOutcome(input)
  world.adopt(changesOf(result))
  return { precompileGas, ...rest }
}

const READ_KINDS = { account: 0, slot: 1, slotCount: 2 } as const
const HAS_VALUE = 0x80
const ADDRESS_BYTES = 20
const WORD_BYTES = 32

function isNextReadCurrent(input: Reader, world: Journal): boolean {
  const kind = input.byte()
  switch (kind) {
    case READ_KINDS.account:
      return world.isStoredAccount(input.key(ADDRESS_BYTES))
    case READ_KINDS.slot:
      return world.isStoredSlot(input.key(ADDRESS_BYTES), input.key(WORD_BYTES))
    case READ_KINDS.slotCount:
      return world.isStoredSlotCount(input.key(ADDRESS_BYTES))
    case READ_KINDS.account | HAS_VALUE:
      return equalAccounts(world.account(input.raw(ADDRESS_BYTES)), decodeAccount(input.bytes()))
    default:
      return equalBytes(world.getStorage(input.raw(ADDRESS_BYTES), input.raw(WORD_BYTES)), input.bytes())
  }
}

/** The versions, which are flat entries, as changes of a journal. */
function changesOf({ table, count, versions }: TableResult): AdoptedChanges {
  const accounts: { key: string; account: Account | undefined }[] = []
  const slots: { key: string; slot: string; value: Uint8Array }[] = []
  const codes: { key: string; code: Uint8Array }[] = []
  const { bytes } = table
  let at = versions
  for (let i = 0; i < count; i++) {
    const { keyAt, valueAt, valueEnd, end } = table.versionAt(at)
    const value = bytes.slice(valueAt, valueEnd)
    const kind = bytes[keyAt]
    const start = keyAt + 1
    if (kind === Column.account)
      accounts.push({ key: bytesKeyOf(bytes, start, valueAt), account: decodeAccount(value) })
    else if (kind === Column.code) codes.push({ key: bytesKeyOf(bytes, start, valueAt), code: value })
    else {
      const slotAt = start + ADDRESS_BYTES
      slots.push({ key: bytesKeyOf(bytes, start, slotAt), slot: bytesKeyOf(bytes, slotAt, valueAt), value })
    }
    at = end
  }
  return { accounts, slots, codes }
}

const STATUSES: readonly AppliedTransaction['status'][] = ['success', 'revert', 'failure']

/** Writes all but the changes to `bytes` from `at` on. @returns the offset after it @throws NoRoom */
export function writeSpeculation(
  { reads, outcome, precompileGas, parties }: Speculation,
  bytes: Uint8Array,
  at: number,
  end: number,
): number {
  const out = new Writer(bytes, at, end)
  out.integer(precompileGas)
  out.number(reads.length)
  for (const { address, slot, isSlotCount, value } of reads) {
    const kind = isSlotCount === true ? READ_KINDS.slotCount : slot === undefined ? READ_KINDS.account : READ_KINDS.slot
    out.byte(value === undefined ? kind : kind | HAS_VALUE)
    out.raw(address)
    if (slot !== undefined) out.raw(slot)
    if (value !== undefined) out.bytes(value)
  }
  out.byte(STATUSES.indexOf(outcome.status))
  for (const amount of [outcome.gasUsed, outcome.effectiveGasPrice, outcome.blobGasUsed]) {
    out.integer(amount)
  }
  const { fees, createdAddress } = outcome
  for (const amount of [fees.baseFeeAcoin, fees.tipAcoin, fees.blobFeeAcoin]) out.integer(amount)
  out.byte(createdAddress === undefined ? 0 : 1)
  if (createdAddress !== undefined) out.raw(createdAddress)
  out.number(outcome.logs.length)
  for (const { address, topics, data } of outcome.logs) {
    out.raw(address)
    out.byte(topics.length)
    for (const topic of topics) out.raw(topic)
    out.bytes(data)
  }
  out.number(outcome.transfers.length)
  for (const { from, to, amountAcoin } of outcome.transfers) {
    out.raw(from)
    out.raw(to)
    out.integer(amountAcoin)
  }
  out.number(parties.length)
  for (const address of parties) out.raw(address)
  return out.at
}

/** What follows the reads. All bytes are copies. */
function readOutcome(input: Reader): Pick<Speculation, 'outcome' | 'parties'> {
  const status = STATUSES[input.byte()]!
  const gasUsed = input.integer()
  const effectiveGasPrice = input.integer()
  const blobGasUsed = input.integer()
  const fees = { baseFeeAcoin: input.integer(), tipAcoin: input.integer(), blobFeeAcoin: input.integer() }
  const createdAddress = input.byte() === 0 ? undefined : input.raw(ADDRESS_BYTES)
  const logs: Log[] = []
  for (let count = input.number(); count > 0; count--) {
    const address = input.raw(ADDRESS_BYTES)
    const topics: Uint8Array[] = []
    for (let topic = input.byte(); topic > 0; topic--) topics.push(input.raw(WORD_BYTES))
    logs.push({ address, topics, data: input.bytes() })
  }
  const transfers: ValueTransfer[] = []
  for (let count = input.number(); count > 0; count--) {
    transfers.push({ from: input.raw(ADDRESS_BYTES), to: input.raw(ADDRESS_BYTES), amountAcoin: input.integer() })
  }
  const parties: Address[] = []
  for (let count = input.number(); count > 0; count--) parties.push(input.raw(ADDRESS_BYTES))
  const outcome = { status, gasUsed, effectiveGasPrice, blobGasUsed, fees, createdAddress, logs, transfers }
  return { outcome, parties }
}

/** Room that a number or the length of bytes takes. */
const NUMBER_BYTES = 4
/** Bytes of an integer that is a number too. */
const MOST_SMALL = 6
/** The most bytes of an integer: a sum of products of words of the EVM, and its length. */
const INTEGER_BYTES = 65

class Writer {
  readonly #out: Uint8Array
  readonly #end: number
  at: number

  constructor(out: Uint8Array, at: number, end: number) {
    this.#out = out
    this.at = at
    this.#end = end
  }

  byte(value: number): void {
    this.#reserve(1)
    this.#out[this.at++] = value
  }

  number(value: number): void {
    this.#reserve(NUMBER_BYTES)
    for (let shift = 0; shift < 32; shift += 8) this.#out[this.at++] = (value >>> shift) & 0xff
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#out.set(value, this.at)
    this.at += value.length
  }

  bytes(value: Uint8Array): void {
    this.number(value.length)
    this.raw(value)
  }

  integer(value: bigint): void {
    this.#reserve(INTEGER_BYTES)
    const end = writeBigInt(this.#out, this.at + 1, value)
    this.#out[this.at] = end - this.at - 1
    this.at = end
  }

  #reserve(length: number): void {
    if (this.at + length > this.#end) throw new NoRoom()
  }
}

class Reader {
  readonly #input: Uint8Array
  #at: number

  constructor(input: Uint8Array, at: number) {
    this.#input = input
    this.#at = at
  }

  byte(): number {
    return this.#input[this.#at++]!
  }

  number(): number {
    const input = this.#input
    const at = this.#at
    this.#at += NUMBER_BYTES
    return (input[at]! | (input[at + 1]! << 8) | (input[at + 2]! << 16) | (input[at + 3]! << 24)) >>> 0
  }

  raw(length: number): Uint8Array {
    this.#at += length
    return this.#input.slice(this.#at - length, this.#at)
  }

  bytes(): Uint8Array {
    return this.raw(this.number())
  }

  /** `bytesKey` of the next bytes. */
  key(length: number): string {
    this.#at += length
    return bytesKeyOf(this.#input, this.#at - length, this.#at)
  }

  /** Most integers have few bytes. */
  integer(): bigint {
    const length = this.byte()
    if (length > MOST_SMALL) return bytesToBigInt(this.raw(length))
    let value = 0
    for (let i = 0; i < length; i++) value = value * 256 + this.byte()
    return BigInt(value)
  }
}
