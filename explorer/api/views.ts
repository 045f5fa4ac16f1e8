import type { Selectable } from 'kysely'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { bytesToAmount } from '../database/amount.ts'
import { heightOf, transactionIndexOf } from '../database/position.ts'
import { MOVEMENT_KINDS, type Tables, TX_KINDS } from '../database/schema.ts'
import type { Block, Movement, Transaction } from './shapes.ts'

/* Rows of the database as the API shows them. */

export function viewBlock(row: Selectable<Tables['block']>): Block {
  return {
    height: row.height,
    hash: bytesToHex(row.hash),
    consensusHash: bytesToHex(row.consensus_hash),
    time: viewTime(row.time),
    proposer: Buffer.from(row.proposer).toString('hex').toUpperCase(),
    feeRecipient: toChecksumAddress(row.miner),
    gasUsed: row.gas_used,
    gasLimit: row.gas_limit,
    baseFeePerGas: viewAmount(row.base_fee),
    evmTransactions: row.evm_count,
    nativeTransactions: row.native_count,
    size: row.size,
  }
}

export type TransactionRow = Omit<Selectable<Tables['tx']>, 'detail'> & { readonly time: number }

export function viewTransaction(row: TransactionRow): Transaction {
  return {
    hash: bytesToHex(row.hash),
    kind: row.kind === TX_KINDS.evm ? 'evm' : 'native',
    height: heightOf(row.position),
    index: transactionIndexOf(row.position)!,
    time: viewTime(row.time),
    isSuccessful: row.is_ok === 1,
    from: toChecksumAddress(row.sender),
    to: row.recipient === null ? null : toChecksumAddress(row.recipient),
    value: viewAmount(row.value),
    fee: viewAmount(row.fee),
    gasUsed: row.gas_used,
    gasLimit: row.gas_limit,
    nonce: row.nonce,
    method: row.method,
  }
}

const KIND_NAMES = Object.fromEntries(Object.entries(MOVEMENT_KINDS).map(([name, kind]) => [kind, name])) as Readonly<
  Record<number, Movement['kind']>
>

export type MovementRow = Selectable<Tables['coin_movement']> & { readonly hash: Uint8Array | null }

export function viewMovement(row: MovementRow): Movement {
  return {
    height: heightOf(row.position),
    transaction: row.hash === null ? null : bytesToHex(row.hash),
    kind: KIND_NAMES[row.kind]!,
    from: row.sender === null ? null : toChecksumAddress(row.sender),
    to: row.recipient === null ? null : toChecksumAddress(row.recipient),
    amount: viewAmount(row.amount),
  }
}

export function viewAmount(bytes: Uint8Array): string {
  return bytesToAmount(bytes).toString()
}

export function viewTime(ms: number): string {
  return new Date(ms).toISOString()
}
