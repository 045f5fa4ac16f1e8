import { z } from 'zod'
import { address, amount, hash, height, textPageOf } from '../api/shapes.ts'

/* Logs, calls and contracts as the API shows them. Long data is cut, next to its size. */

const data = z.string().regex(/^0x([0-9a-f]{2})*$/)

/** Lists of one transaction, in the order in which things happened. */
export const orderedPage = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(100).describe('entries per page'),
  after: z.coerce.number().int().min(0).max(1e7).optional().describe('`next` of the previous page'),
})

export const topic = hash

export const log = z.object({
  height,
  transaction: hash,
  index: z.int().describe('index in the block, as in eth_getLogs'),
  address,
  topics: z.array(topic).max(4),
  data: data.describe('first 8,192 bytes'),
  dataSize: z.int().describe('full size in bytes'),
})

export const traceState = z
  .enum(['none', 'kept', 'cut', 'notKept', 'refused', 'unsupported'])
  .describe(
    'state of the list of calls. none: no code ran; cut: some calls are left out; notKept: the node no longer had the state when the transaction was indexed; refused: the node did not trace it, because the trace is too large or takes too long; unsupported: the node has no debug methods',
  )

const callKind = z.enum(['call', 'staticcall', 'delegatecall', 'callcode', 'create', 'create2', 'selfdestruct'])

const callFields = z.object({
  ordinal: z
    .int()
    .describe('position in the call tree, each caller before its callees; 0 is the call of the transaction'),
  depth: z.int(),
  kind: callKind,
  from: address,
  to: address.nullable().describe('null: a failed creation'),
  value: amount.describe('acoin; moved only if the call was successful'),
  gas: z.int(),
  gasUsed: z.int(),
  isSuccessful: z.boolean().describe('true: it has effects, because neither the call nor any of its callers failed'),
  error: z.string().nullable().describe('error of the call itself'),
})

const call = callFields.extend({
  input: data.describe('first bytes; the input of the transaction itself is in `detail`'),
  inputSize: z.int(),
  output: data.describe('first bytes; empty for a creation'),
  outputSize: z.int(),
})

export const internalCall = callFields.extend({ height, transaction: hash })

export const callPage = z.object({
  state: traceState,
  count: z.int().describe('number of calls of the transaction, including its own and those left out'),
  items: z.array(call),
  next: z.int().nullable().describe('`after` of the next page; null: this is the last page'),
})

const place = z.object({ height, transaction: hash })

/** A page of a list that is made of calls: it lacks those of transactions without a trace. */
export function tracedPageOf<T extends z.ZodType>(item: T) {
  return textPageOf(item).extend({
    untraced: place
      .extend({ trace: z.enum(['notKept', 'refused', 'unsupported']) })
      .nullable()
      .describe(
        'newest transaction in this range whose calls are unknown, so the page may be incomplete; null: the page is complete',
      ),
    indexedFrom: height.nullable().describe('first block in the index; null: the index has all blocks'),
  })
}

export const contract = z.object({
  address,
  creator: address.nullable().describe('null: created in the genesis'),
  created: place.nullable().describe('null: created in the genesis'),
  way: z
    .enum(['transaction', 'create', 'create2', 'genesis', 'precompile'])
    .describe('created by a transaction, by this instruction of `creator`, or in the genesis'),
  label: z.string().nullable().describe('name in the genesis'),
  selfDestruct: place.nullable().describe('newest SELFDESTRUCT that the contract ran'),
  isDeleted: z
    .boolean()
    .describe(
      'true: the contract was deleted; since Cancun this requires a SELFDESTRUCT in the transaction that created it',
    ),
})

export const contractDetail = contract
  .extend({
    creation: z
      .enum(['known', 'unknown'])
      .describe('unknown: the index lacks the creation, see `trace` of transactions'),
    way: contract.shape.way.nullable(),
    code: data.describe('current code at the node'),
    codeSize: z.int(),
    delegatesTo: address.nullable().describe('address whose code the account runs (EIP-7702 delegation)'),
  })
  .describe('a contract, or an account with a delegation')

const change = <T extends z.ZodType>(of: T) =>
  z.object({ before: of, after: of }).nullable().describe('null: unchanged')

export const stateChanges = z.object({
  state: z
    .enum(['kept', 'cut', 'notKept', 'refused', 'unsupported'])
    .describe('answer of the node at the time of the request; see `trace`'),
  accounts: z.array(
    z.object({
      address,
      balance: change(amount),
      nonce: change(z.int()),
      codeSize: change(z.int()),
      isDeleted: z.boolean(),
      storage: z.array(z.object({ slot: hash, before: hash, after: hash })),
    }),
  ),
})

export type Log = z.infer<typeof log>
export type Call = z.infer<typeof call>
export type CallPage = z.infer<typeof callPage>
export type InternalCall = z.infer<typeof internalCall>
export type TracedPage<T> = z.infer<ReturnType<typeof tracedPageOf<z.ZodType<T>>>>
export type Contract = z.infer<typeof contract>
export type ContractDetail = z.infer<typeof contractDetail>
export type StateChanges = z.infer<typeof stateChanges>
export type TraceState = z.infer<typeof traceState>
