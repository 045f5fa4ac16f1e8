import { sql } from 'kysely'
import { amountToBytes } from '../../explorer/database/amount.ts'
import type { IndexLock, IndexWriter, Row } from '../../explorer/database/indexDatabase.ts'
import { MIGRATIONS } from '../../explorer/database/migrations.ts'
import { openDatabase } from '../../explorer/database/open.ts'
import { transactionPosition } from '../../explorer/database/position.ts'
import { MOVEMENT_KINDS, type TableName, TOKEN_KINDS, TX_KINDS } from '../../explorer/database/schema.ts'
import { packCalls } from '../../explorer/ingest/callTree.ts'
import { nameRow } from '../../explorer/ingest/tokenNames.ts'
import { bytesToHex, EMPTY_BYTES } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { word } from '../contracts/abi.ts'
import { createRandom, type Random } from '../worstCase/random.ts'

/*
 * An index as an explorer would have it after many transfers, without a chain. The explorer's own writer writes its rows, table
 * by table, and the tables' further indexes are made at the end: several times as fast as block by block.
 *
 * Half of the transfers are of coins and half of tokens. Balances are not checked against the transfers.
 */

/** Contents of the index that pages can be requested for. */
export interface BigIndex {
  readonly height: number
  /** party of two in five transfers of coins, and of one in five of tokens */
  readonly exchange: string
  /** gets the fee of every transaction */
  readonly collector: string
  /** one transaction and one transfer of a token */
  readonly rare: string
  readonly accounts: readonly string[]
  /** the one with the most holders first */
  readonly tokens: readonly string[]
  readonly transactionHash: (height: number, index: number) => string
}

const ADDRESSES = 200_000
const TOKENS = 1_000
const TOKEN_EVERY = ADDRESSES / TOKENS
/** Places among the addresses. */
const [EXCHANGE, COLLECTOR, RARE, DISTRIBUTOR, VALIDATOR] = [1, 3, 5, 7, 9]
/** Transactions of a block: transfers of coins, then of tokens. */
const COINS_IN_BLOCK = 100
const TOKENS_IN_BLOCK = 80
/** A fifth of the transfers of tokens are gifts of the first one to accounts that have nothing else, many in a transaction. */
const GIFTS = 500
const GIFT_EVERY = 25
const TRANSFERS_IN_BLOCK = COINS_IN_BLOCK + TOKENS_IN_BLOCK + GIFTS / GIFT_EVERY
const BLOCKS_AT_ONCE = 250
const ROWS_AT_ONCE = 100_000
const HOUR_MS = 3_600_000
const BLOCK_MS = 60_000
const START_MS = Date.UTC(2026, 0, 1)

const TRANSFER = keccak256(Buffer.from('Transfer(address,address,uint256)'))
const [FEE, VALUE, TOKEN_AMOUNT] = [10n ** 14n, 10n ** 18n, 5n * 10n ** 18n].map(amountToBytes) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
]
const AMOUNT_WORD = Buffer.from(word(5n * 10n ** 18n), 'hex')
const DETAIL = {
  type: 2,
  input: '0x',
  gasPrice: '0x77359400',
  maxFeePerGas: '0x746a528800',
  maxPriorityFeePerGas: '0x3b9aca00',
  effectiveGasPrice: '0x77359400',
  transactionIndex: '0x32',
  cumulativeGasUsed: '0x100590',
  contractAddress: null,
}
const COIN_DETAIL = JSON.stringify(DETAIL)

/**
 * Writes an index of about `transfers` transfers into an empty database.
 * @throws Error when it is not empty
 */
export async function writeBigIndex(place: string, transfers: number): Promise<BigIndex> {
  const database = await openDatabase(place)
  const lock = await database.lock()
  if (lock === undefined) throw new Error('another program writes this database: stop it')
  const writer = new BigIndexWriter(lock, blocksOf(transfers))
  if (database.dialect === 'postgres') {
    await sql`set statement_timeout = 0; set synchronous_commit = off; set maintenance_work_mem = '512MB'`.execute(
      lock.queries,
    )
  }
  const indexes = Object.values(MIGRATIONS).flatMap((text) => text.match(/create index [^;]*/g) ?? [])
  for (const text of indexes) await sql.raw(`drop index ${text.split(' ')[2]}`).execute(lock.queries)
  await writer.writeAll()
  for (const text of indexes) await sql.raw(text).execute(lock.queries)
  // As PostgreSQL does by itself after a while.
  if (database.dialect === 'postgres') await sql`analyze`.execute(lock.queries)
  await lock.close()
  await database.close()
  return describeBigIndex(transfers)
}

function blocksOf(transfers: number): number {
  return Math.ceil(transfers / TRANSFERS_IN_BLOCK / BLOCKS_AT_ONCE) * BLOCKS_AT_ONCE
}

/** Describes the index that {@link writeBigIndex} writes. */
export function describeBigIndex(transfers: number): BigIndex {
  const addresses = sortedAddresses()
  const random = createRandom(2)
  const text = (index: number): string => bytesToHex(addresses[index]!)
  return {
    height: blocksOf(transfers),
    exchange: text(EXCHANGE),
    collector: text(COLLECTOR),
    rare: text(RARE),
    accounts: Array.from({ length: 500 }, () => text(someAccount(random))),
    tokens: Array.from({ length: TOKENS }, (_, token) => text(token * TOKEN_EVERY)),
    transactionHash: (height, index) => bytesToHex(hashOf('tx', transactionPosition(height, index))),
  }
}

function sortedAddresses(): readonly Uint8Array[] {
  return Array.from({ length: ADDRESSES }, (_, index) => hashOf('address', index).subarray(0, 20)).sort(Buffer.compare)
}

/** Returns a number from 0 to below 1. */
function fraction(random: Random): number {
  return random.below(2 ** 32) / 2 ** 32
}

/** Returns an account; some are in far more transfers than others. */
function someAccount(random: Random): number {
  const index = (Math.floor(fraction(random) ** 3 * ADDRESSES) * 7_919) % ADDRESSES
  return index % TOKEN_EVERY === 0 || index === RARE ? index + 11 : index
}

class BigIndexWriter {
  readonly #lock: IndexLock
  readonly #blocks: number
  readonly #random = createRandom(1)
  /** in their order */
  readonly #addresses = sortedAddresses()
  /** which account, and where: for account_tx, whose rows are in the order of addresses */
  readonly #parties: Uint32Array
  readonly #places: Float64Array
  #partyCount = 0
  /** token × ADDRESSES + account */
  readonly #received: Float64Array
  #receivedCount = 0
  readonly #tokenTransfers = new Uint32Array(TOKENS)

  constructor(lock: IndexLock, blocks: number) {
    this.#lock = lock
    this.#blocks = blocks
    const most = blocks * (3 * (COINS_IN_BLOCK + TOKENS_IN_BLOCK) + 3)
    this.#parties = new Uint32Array(most)
    this.#places = new Float64Array(most)
    this.#received = new Float64Array(blocks * TOKENS_IN_BLOCK)
  }

  async writeAll(): Promise<void> {
    for (let height = 1; height <= this.#blocks; height += BLOCKS_AT_ONCE) {
      await this.#lock.write((writer) => this.#writeBlocks(writer, height))
    }
    await this.#writeRows('account_tx', this.#accountRows())
    await this.#writeRows(
      'coin_balance',
      this.#addresses.map((address, index): Row => [address, amountToBytes(BigInt(index) * 10n ** 15n), 1]),
    )
    await this.#writeTokens()
    await this.#writeRows('statistics_hour', this.#hourRows())
    await this.#writeRows('validator', [this.#validatorRow()])
    await this.#writeRows('ingest', [[1, 'coin_76287-1', 76_287, 1, this.#blocks, 0]])
  }

  #token(token: number): Uint8Array {
    return this.#addresses[token * TOKEN_EVERY]!
  }

  async #writeBlocks(writer: IndexWriter, first: number): Promise<void> {
    const rows = new Map<TableName, Row[]>()
    const add = (table: TableName, row: Row): void => {
      const list = rows.get(table)
      if (list === undefined) rows.set(table, [row])
      else list.push(row)
    }
    for (let height = first; height < first + BLOCKS_AT_ONCE; height++) this.#addBlock(add, height)
    for (const [table, own] of rows) await writer.insert(table, own)
  }

  #addBlock(add: (table: TableName, row: Row) => void, height: number): void {
    const hasGifts = height % GIFT_EVERY === 0
    const count = COINS_IN_BLOCK + TOKENS_IN_BLOCK + (hasGifts ? 1 : 0)
    const gas = COINS_IN_BLOCK * 21_000 + TOKENS_IN_BLOCK * 51_553
    const hashes = [hashOf('block', height), hashOf('consensus', height)]
    const validator = this.#addresses[VALIDATOR]!
    const sides = [START_MS + height * BLOCK_MS, validator, validator]
    add('block', [height, ...hashes, ...sides, gas, 30_000_000, FEE, count, 0, count * 150])
    for (let index = 0; index < COINS_IN_BLOCK; index++) {
      const other = height === 1 && index === 0 ? RARE : someAccount(this.#random)
      const isExchange = index % 5 < 2
      const [sender, recipient] = isExchange
        ? index % 2 === 0
          ? [EXCHANGE, other]
          : [other, EXCHANGE]
        : [someAccount(this.#random), other]
      const position = transactionPosition(height, index)
      this.#addTransaction(add, position, sender!, recipient!, VALUE, COIN_DETAIL)
      add('coin_movement', [
        position,
        1,
        this.#addresses[sender!]!,
        this.#addresses[recipient!]!,
        VALUE,
        MOVEMENT_KINDS.transfer,
      ])
    }
    let logs = 0
    for (let index = 0; index < TOKENS_IN_BLOCK; index++) {
      const other = height === 1 && index === 1 ? RARE : someAccount(this.#random)
      const [sender, recipient] = index % 5 === 0 ? [EXCHANGE, other] : [someAccount(this.#random), other]
      const token = Math.floor(fraction(this.#random) ** 4 * TOKENS)
      const position = transactionPosition(height, COINS_IN_BLOCK + index)
      const input = `0xa9059cbb${[topicOf(this.#addresses[recipient!]!), AMOUNT_WORD].map((part) => bytesToHex(part).slice(2)).join('')}`
      const nothing = amountToBytes(0n)
      this.#addTransaction(add, position, sender!, token * TOKEN_EVERY, nothing, JSON.stringify({ ...DETAIL, input }))
      this.#addTransfer(add, position, 0, token, this.#addresses[sender!]!, this.#addresses[recipient!]!, logs++)
      this.#received[this.#receivedCount++] = token * ADDRESSES + recipient!
      addRun(add, position, 1)
    }
    if (!hasGifts) return
    const position = transactionPosition(height, COINS_IN_BLOCK + TOKENS_IN_BLOCK)
    this.#addTransaction(add, position, DISTRIBUTOR, 0, amountToBytes(0n), COIN_DETAIL)
    for (let gift = 0; gift < GIFTS; gift++) {
      const holder = giftHolder((height / GIFT_EVERY) * GIFTS + gift)
      this.#addTransfer(add, position, gift, 0, this.#addresses[DISTRIBUTOR]!, holder, logs++)
    }
    addRun(add, position, GIFTS)
  }

  #addTransaction(
    add: (table: TableName, row: Row) => void,
    position: number,
    sender: number,
    recipient: number,
    value: Uint8Array,
    detail: string,
  ): void {
    const [from, to] = [this.#addresses[sender]!, this.#addresses[recipient]!]
    const hash = hashOf('tx', position)
    const isCall = detail !== COIN_DETAIL
    const [gasUsed, gasLimit] = isCall ? [51_553, 100_000] : [21_000, 21_000]
    const method = isCall ? '0xa9059cbb' : null
    add('tx', [position, hash, TX_KINDS.evm, 1, from, to, value, FEE, gasUsed, gasLimit, 7, method, detail])
    add('coin_movement', [position, 0, from, this.#addresses[COLLECTOR]!, FEE, MOVEMENT_KINDS.fee])
    for (const party of new Set([sender, recipient, COLLECTOR])) {
      this.#parties[this.#partyCount] = party
      this.#places[this.#partyCount++] = position
    }
  }

  #addTransfer(
    add: (table: TableName, row: Row) => void,
    position: number,
    ordinal: number,
    token: number,
    sender: Uint8Array,
    recipient: Uint8Array,
    logIndex: number,
  ): void {
    const address = this.#token(token)
    this.#tokenTransfers[token]!++
    add('token_transfer', [position, ordinal, address, sender, recipient, TOKEN_AMOUNT, EMPTY_BYTES])
    add('log', [position, ordinal, address, TRANSFER, topicOf(sender), topicOf(recipient), null, AMOUNT_WORD, logIndex])
  }

  /** Rows of account_tx in the order of their keys: the database appends them, instead of looking for the place of each. */
  *#accountRows(): Generator<Row> {
    const starts = new Uint32Array(ADDRESSES + 1)
    for (let at = 0; at < this.#partyCount; at++) starts[this.#parties[at]! + 1]!++
    for (let account = 0; account < ADDRESSES; account++) starts[account + 1]! += starts[account]!
    const next = starts.slice()
    const sorted = new Float64Array(this.#partyCount)
    for (let at = 0; at < this.#partyCount; at++) sorted[next[this.#parties[at]!]!++] = this.#places[at]!
    for (let account = 0; account < ADDRESSES; account++) {
      for (let at = starts[account]!; at < starts[account + 1]!; at++) yield [this.#addresses[account]!, sorted[at]!]
    }
  }

  async #writeTokens(): Promise<void> {
    const gifts = Math.floor(this.#blocks / GIFT_EVERY) * GIFTS
    const holders = new Uint32Array(TOKENS)
    holders[0] = gifts
    const balance = (token: number, holder: Uint8Array, amount: bigint): Row => {
      const address = this.#token(token)
      return [Buffer.concat([address, holder]), address, EMPTY_BYTES, holder, amountToBytes(amount)]
    }
    const given = Array.from({ length: gifts }, (_, index) => giftHolder(index + GIFTS)).sort(Buffer.compare)
    const rowsOfBalances = function* (this: BigIndexWriter): Generator<Row> {
      for (const holder of given) yield balance(0, holder, 5n * 10n ** 18n)
      for (const pair of new Set(this.#received.sort())) {
        const [token, account] = [Math.floor(pair / ADDRESSES), pair % ADDRESSES]
        holders[token]!++
        yield balance(token, this.#addresses[account]!, BigInt(1 + (pair % 997)) * 10n ** 17n)
      }
    }
    await this.#writeRows('token_balance', rowsOfBalances.call(this))
    const text = (value: string): Uint8Array => {
      const length = Buffer.from(word(32n) + word(BigInt(value.length)), 'hex')
      return Buffer.concat([length, Buffer.from(value.padEnd(32, '\0'))])
    }
    const rows = Array.from({ length: TOKENS }, (_, token): Row => {
      const counts = [holders[token]!, this.#tokenTransfers[token]!]
      return [this.#token(token), TOKEN_KINDS.erc20, 1, ...counts, amountToBytes(10n ** 24n), 1]
    })
    await this.#writeRows('token', rows)
    const decimals = Buffer.from(word(18n), 'hex')
    const names = rows.map((_, token) =>
      nameRow(this.#token(token), text(`Token number ${token}`), text(`TOK${token}`), decimals),
    )
    await this.#writeRows('token_name', names)
  }

  *#hourRows(): Generator<Row> {
    const last = Math.floor((START_MS + this.#blocks * BLOCK_MS) / HOUR_MS)
    for (let hour = Math.floor(START_MS / HOUR_MS); hour <= last; hour++) {
      yield [hour, 60, 60 * (COINS_IN_BLOCK + TOKENS_IN_BLOCK), 0, 0, 1e9, FEE, VALUE, 10]
    }
  }

  #validatorRow(): Row {
    const [operator, amount] = [this.#addresses[VALIDATOR]!, amountToBytes(10n ** 24n)]
    const description = { moniker: 'validator', identity: '', website: '', security_contact: '', details: '' }
    const rates = { rate: '0.1', max_rate: '0.2', max_change_rate: '0.01' }
    const commission = { commission_rates: rates, update_time: new Date(START_MS).toISOString() }
    const detail = JSON.stringify({ description, commission, minSelfDelegation: '1' })
    return [operator, operator, amount, amount, 1, 'bonded', 0, 0, 0, Buffer.from('validator'), detail]
  }

  async #writeRows(table: TableName, rows: Iterable<Row>): Promise<void> {
    let part: Row[] = []
    const flush = async (): Promise<void> => {
      const own = part
      part = []
      await this.#lock.write((writer) => writer.insert(table, own))
    }
    for (const row of rows) {
      part.push(row)
      if (part.length === ROWS_AT_ONCE) await flush()
    }
    await flush()
  }
}

const ONE_CALL = packCalls([
  {
    ordinal: 0,
    depth: 0,
    kind: 0,
    from: `0x${'12'.repeat(20)}`,
    to: `0x${'34'.repeat(20)}`,
    value: 0n,
    gas: 78_000,
    gasUsed: 30_000,
    input: '0x',
    inputSize: 68,
    output: `0x${word(1n)}`,
    outputSize: 32,
    isEffective: true,
    error: null,
  },
])

function addRun(add: (table: TableName, row: Row) => void, position: number, logs: number): void {
  add('tx_run', [position, logs, 0, 1])
  add('call_tree', [position, ONE_CALL])
}

function giftHolder(index: number): Uint8Array {
  return hashOf('gift', index).subarray(0, 20)
}

function topicOf(address: Uint8Array): Uint8Array {
  const topic = new Uint8Array(32)
  topic.set(address, 12)
  return topic
}

const SEEDS = { address: 1, block: 2, consensus: 3, tx: 4, gift: 5 } as const

/** Returns 32 bytes that look like a hash: always the same ones for a number. Fast, as millions are needed. */
function hashOf(kind: keyof typeof SEEDS, number: number): Uint8Array {
  const bytes = new Uint8Array(32)
  const words = new Uint32Array(bytes.buffer)
  let state = SEEDS[kind] * 0x9e3779b1 + (number % 2 ** 32) + Math.floor(number / 2 ** 32) * 0x85ebca6b
  for (let at = 0; at < words.length; at++) {
    // The finalizer of MurmurHash3.
    state = (state + 0x9e3779b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x85ebca6b)
    mixed ^= mixed >>> 13
    mixed = Math.imul(mixed, 0xc2b2ae35)
    words[at] = mixed ^ (mixed >>> 16)
  }
  // No two numbers have the same, not in 20 bytes either.
  ;[words[4], words[5]] = [number, Math.floor(number / 2 ** 32)]
  return bytes
}
