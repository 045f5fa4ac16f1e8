import { z } from 'zod'
import { movement } from '../accounts/shapes.ts'
import { address, amount, hash, height, time } from '../api/shapes.ts'
import { traceState } from '../contracts/shapes.ts'
import { tokenTransfer } from '../tokens/shapes.ts'

export const transaction = z.object({
  hash,
  kind: z.enum(['evm', 'native']),
  height,
  index: z.int().describe('index in the block, EVM and native transactions counted together'),
  time,
  isSuccessful: z.boolean(),
  from: address.describe('signer; the first signer of a native transaction'),
  to: address.nullable(),
  value: amount,
  fee: amount,
  gasUsed: z.int(),
  gasLimit: z.int(),
  nonce: z.int(),
  method: z.string().nullable().describe('selector of a call, or type of the first message'),
})

export const transactionDetail = transaction.extend({
  detail: z
    .record(z.string(), z.unknown())
    .describe('input and fee fields of an EVM transaction; messages, memo and events of a native one'),
  movements: z.array(movement),
  tokenTransfers: z.array(tokenTransfer).describe('last 100'),
  hasMoreTokenTransfers: z.boolean(),
  logs: z.int(),
  calls: z.int().describe('number of calls, including its own; 0: no trace'),
  trace: traceState,
})

/** Transactions that wait for a block. */
export const mempool = z.object({
  total: z.int().describe('waiting transactions of both kinds'),
  bytes: z.int().describe('total size of the waiting transactions'),
  pending: z.int().describe('EVM transactions ready for the next block'),
  queued: z.int().describe('EVM transactions waiting for a lower nonce'),
  items: z
    .array(
      z.object({
        hash,
        kind: z.enum(['evm', 'native']),
        size: z.int().describe('bytes'),
        from: address.nullable().describe('null: a native transaction, or no longer in the pool'),
        to: address.nullable(),
        value: amount.nullable(),
        nonce: z.int().nullable(),
        gasLimit: z.int().nullable(),
        maxFeePerGas: amount.nullable(),
      }),
    )
    .describe('first 50, in the order in which the pool would put them into a block'),
})

export type Transaction = z.infer<typeof transaction>
