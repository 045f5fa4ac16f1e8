import { createHash } from 'node:crypto'
import { type Address, AddressError, ZERO_ADDRESS } from '../../src/primitives/address.ts'
import { bytesKey, hexToBytes, keyBytes } from '../../src/primitives/bytes.ts'
import { coinMovements, type PlacedMovement } from '../accounts/coinMovements.ts'
import { MOVEMENT_KINDS } from '../accounts/tables.ts'
import type { ContractChange } from '../contracts/contractBook.ts'
import { addEvmRows } from '../contracts/evmRows.ts'
import { amountToBytes } from '../database/amount.ts'
import type { Row } from '../database/indexDatabase.ts'
import { beginPosition, endPosition, transactionIndexOf, transactionPosition } from '../database/position.ts'
import { RowSet } from '../database/rowSet.ts'
import { governanceChanges, type PlacedChange } from '../governance/ingest.ts'
import type { EthereumTransaction, Event, NativeTransaction, Receipt, TransactionResult } from '../node/answers.ts'
import { accountOf, coinsOf, isEvm, isOfBegin, signersOf } from '../node/readAnswers.ts'
import type { BlockTotals } from '../statistics/ingest.ts'
import type { PlacedTransfer } from '../tokens/tokenBook.ts'
import { tokenTransfers } from '../tokens/tokenTransfers.ts'
import { TX_KINDS } from '../transactions/tables.ts'
import type { FetchedBlock } from './fetchBlocks.ts'

/** Rows and changes that one block adds to the index. */
export interface BlockRows {
  readonly height: number
  /** of its Ethereum header, and of the one before: 0x… */
  readonly hash: string
  readonly parentHash: string
  readonly transactionCount: number
  readonly rows: RowSet
  /** in the order in which they happened */
  readonly movements: readonly PlacedMovement[]
  /** of tokens, in the order in which they happened */
  readonly transfers: readonly PlacedTransfer[]
  readonly totals: BlockTotals
  readonly governance: readonly PlacedChange[]
  /** created and destroyed ones, in the order in which that happened */
  readonly contracts: readonly ContractChange[]
}

/**
 * Makes the rows of a block from the node's answers. They depend on nothing else, so the same chain yields the same rows.
 * @throws Error when parts of the answers do not fit each other
 */
export function readBlock(fetched: FetchedBlock): BlockRows {
  const { height, ethereum, consensus, results, receipts, decoded } = fetched
  const rows = new RowSet()
  const movements: PlacedMovement[] = []
  const governance: PlacedChange[] = []
  const transfers: PlacedTransfer[] = []
  const contracts: ContractChange[] = []
  const raw = consensus.block.data.txs ?? []
  const outcomes = results.txs_results ?? []
  requireSame(height, 'results', raw.length, outcomes.length)
  requireSame(height, 'receipts', ethereum.transactions.length, receipts.length)

  /** Reads the events at a position. Returns the accounts whose coins moved. */
  const move = (position: number, events: readonly Event[]): Set<string> => {
    for (const change of governanceChanges(events)) {
      governance.push({ position, change, proposal: fetched.proposals.get(change.id) ?? null })
    }
    const own = coinMovements(events)
    const accounts = new Set<string>()
    for (const [ordinal, movement] of own.entries()) {
      const { sender, recipient, amount, kind } = movement
      rows.add('coin_movement', {
        position,
        ordinal,
        sender: sender ?? null,
        recipient: recipient ?? null,
        amount: amountToBytes(amount),
        kind,
      })
      movements.push({ ...movement, position })
      for (const account of [sender, recipient]) if (account !== undefined) accounts.add(bytesKey(account))
    }
    return accounts
  }

  const blockEvents = results.finalize_block_events ?? []
  const [before, after] = [blockEvents.filter(isOfBegin), blockEvents.filter((event) => !isOfBegin(event))]
  move(beginPosition(height), before)
  let evmCount = 0
  let [failed, fees] = [0, 0n]
  for (const [index, outcome] of outcomes.entries()) {
    const position = transactionPosition(height, index)
    const bytes = Buffer.from(raw[index]!, 'base64')
    const accounts = move(position, outcome.events)
    let read: ReadTransaction
    if (isEvm(bytes)) {
      const [transaction, receipt] = [ethereum.transactions[evmCount]!, receipts[evmCount]!]
      read = readEvm(transaction, receipt, outcome)
      const trace = fetched.traces[evmCount]
      contracts.push(...addEvmRows(rows.add, position, transaction, receipt, trace))
      for (const [ordinal, transfer] of tokenTransfers(receipt.logs).entries()) {
        const { token, sender, recipient, amount, id } = transfer
        rows.add('token_transfer', {
          position,
          ordinal,
          token,
          sender: sender ?? null,
          recipient: recipient ?? null,
          amount: amountToBytes(amount),
          token_id: id,
        })
        transfers.push({ ...transfer, position })
      }
      evmCount++
    } else {
      read = readNative(bytes, decoded[index]!, outcome)
    }
    rows.add('tx', { position, ...read.row })
    if (!read.isOk) failed++
    fees += read.fee
    for (const account of read.accounts) accounts.add(bytesKey(account))
    for (const account of accounts) rows.add('account_tx', { address: keyBytes(account), position })
  }
  move(endPosition(height), after)
  requireSame(height, 'EVM transactions', evmCount, ethereum.transactions.length)

  const time = Date.parse(consensus.block.header.time)
  rows.add('block', {
    height,
    hash: hexToBytes(ethereum.hash),
    consensus_hash: Buffer.from(consensus.block_id.hash, 'hex'),
    time,
    proposer: Buffer.from(consensus.block.header.proposer_address, 'hex'),
    miner: hexToBytes(ethereum.miner),
    gas_used: Number(ethereum.gasUsed),
    gas_limit: Number(ethereum.gasLimit),
    base_fee: amountToBytes(BigInt(ethereum.baseFeePerGas)),
    evm_count: evmCount,
    native_count: raw.length - evmCount,
    size: Number(ethereum.size),
  })
  const native = raw.length - evmCount
  const moved = movements
    .filter(({ position, kind }) => transactionIndexOf(position) !== undefined && kind === MOVEMENT_KINDS.transfer)
    .reduce((sum, { amount }) => sum + amount, 0n)
  const totals = { time, evm: evmCount, native, failed, gasUsed: Number(ethereum.gasUsed), fees, moved }
  const { hash, parentHash } = ethereum
  return {
    height,
    hash,
    parentHash,
    transactionCount: raw.length,
    rows,
    movements,
    transfers,
    totals,
    governance,
    contracts,
  }
}

interface ReadTransaction {
  /** without its position */
  readonly row: Omit<Row<'tx'>, 'position'>
  readonly isOk: boolean
  /** acoin */
  readonly fee: bigint
  /** accounts that it names itself, in addition to those whose coins it moves */
  readonly accounts: readonly Address[]
}

function readEvm(transaction: EthereumTransaction, receipt: Receipt, outcome: TransactionResult): ReadTransaction {
  const { hash, from, to, value, gas, nonce, input, type, gasPrice, maxFeePerGas, maxPriorityFeePerGas } = transaction
  const { accessList, authorizationList } = transaction
  const { contractAddress, effectiveGasPrice, gasUsed, status, transactionIndex, cumulativeGasUsed } = receipt
  if (receipt.transactionHash !== hash) throw new Error(`receipt of ${receipt.transactionHash} instead of ${hash}`)
  const accounts = [from, to, contractAddress].filter((address) => address !== null).map(hexToBytes)
  const detail = {
    type: Number(type),
    input,
    gasPrice,
    ...(maxFeePerGas === undefined ? {} : { maxFeePerGas, maxPriorityFeePerGas }),
    effectiveGasPrice,
    transactionIndex,
    cumulativeGasUsed,
    contractAddress,
    ...(accessList === undefined || accessList.length === 0 ? {} : { accessList }),
    ...(authorizationList === undefined ? {} : { authorizationList }),
    ...(outcome.log === '' ? {} : { log: outcome.log }),
  }
  const fee = BigInt(gasUsed) * BigInt(effectiveGasPrice)
  return {
    isOk: Number(status) === 1,
    fee,
    row: {
      hash: hexToBytes(hash),
      kind: TX_KINDS.evm,
      is_ok: Number(status),
      sender: hexToBytes(from),
      recipient: to === null ? null : hexToBytes(to),
      value: amountToBytes(BigInt(value)),
      fee: amountToBytes(fee),
      gas_used: Number(gasUsed),
      gas_limit: Number(gas),
      nonce: Number(nonce),
      method: input.length >= 10 && to !== null ? input.slice(0, 10) : null,
      detail: storedText(detail),
    },
    accounts,
  }
}

function readNative(bytes: Uint8Array, decoded: NativeTransaction, outcome: TransactionResult): ReadTransaction {
  const { body, auth_info: info } = decoded
  const offered = info.fee.amount.find(({ denom }) => denom === 'acoin')?.amount ?? '0'
  const signers = signersOf(outcome.events)
  const named = outcome.events.flatMap(({ attributes }) => attributes.map(({ value }) => value).filter(isAccount))
  const first = signers[0] ?? named[0]
  const paid = outcome.events.find(
    ({ type, attributes }) => type === 'tx' && attributes.some(({ key }) => key === 'fee'),
  )
  const fee = paid === undefined ? BigInt(offered) : coinsOf(paid.attributes.find(({ key }) => key === 'fee')!.value)
  const detail = {
    messages: body.messages,
    memo: body.memo,
    fee: info.fee,
    signers,
    code: outcome.code,
    codespace: outcome.codespace,
    log: outcome.log,
    events: outcome.events,
  }
  return {
    isOk: outcome.code === 0,
    fee,
    row: {
      hash: createHash('sha256').update(bytes).digest(),
      kind: TX_KINDS.native,
      is_ok: outcome.code === 0 ? 1 : 0,
      sender: first === undefined ? ZERO_ADDRESS : accountOf(first),
      recipient: null,
      value: amountToBytes(0n),
      fee: amountToBytes(fee),
      gas_used: Number(outcome.gas_used),
      gas_limit: Number(outcome.gas_wanted),
      nonce: Number(info.signer_infos[0]?.sequence ?? 0),
      method: body.messages[0]?.['@type'] ?? null,
      detail: storedText(detail),
    },
    accounts: [...signers, ...named].map(accountOf),
  }
}

/** Whether a value is an address: users write some values, which may only look like one. */
function isAccount(text: string): boolean {
  if (!/^coin1[02-9ac-hj-np-z]{38}$/.test(text)) return false
  try {
    accountOf(text)
    return true
  } catch (error) {
    if (error instanceof AddressError) return false
    throw error
  }
}

/** JSON without the character 0, which PostgreSQL's text cannot hold: JSON writes it as an escape, and so it stays one. */
function storedText(value: unknown): string {
  return JSON.stringify(value)
}

function requireSame(height: number, what: string, expected: number, found: number): void {
  if (expected !== found) throw new Error(`block ${height} has ${expected} ${what}, not ${found}`)
}
