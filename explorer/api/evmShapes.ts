import { z } from 'zod'
import { address, amount, hash, height } from './shapes.ts'

/* What the API tells of logs, calls and contracts. Data of any length is cut, with its size beside it. */

const data = z.string().regex(/^0x([0-9a-f]{2})*$/)

/** Lists whose rows are known by a position and a place in it. */
export const placePage = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(25).describe('how many'),
  before: z
    .string()
    .regex(/^[0-9]{1,16}\.[0-9]{1,7}$/)
    .optional()
    .describe('`next` of the page before this one'),
})

/** Lists of one transaction, in the order in which things happened. */
export const orderedPage = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(100).describe('how many'),
  after: z.coerce.number().int().min(0).max(1e7).optional().describe('`next` of the page before this one'),
})

export const topic = hash

export const log = z.object({
  height,
  transaction: hash,
  index: z.int().describe('in the block, as eth_getLogs counts'),
  address,
  topics: z.array(topic).max(4),
  data: data.describe('the first 8,192 bytes'),
  dataSize: z.int().describe('bytes of all of it'),
})

export const traceState = z
  .enum(['none', 'kept', 'cut', 'notKept', 'refused', 'unsupported'])
  .describe(
    'of its calls. none: no code ran; cut: some are left out; notKept: the node had no state that old when it was indexed; refused: the node did not trace it, it is too long or takes too long; unsupported: the node has no debug methods',
  )

const callKind = z.enum(['call', 'staticcall', 'delegatecall', 'callcode', 'create', 'create2', 'selfdestruct'])

const callFields = z.object({
  ordinal: z.int().describe('place in the tree, callers before those that they call; 0 is the call of the transaction'),
  depth: z.int(),
  kind: callKind,
  from: address,
  to: address.nullable().describe('null: a creation that failed'),
  value: amount.describe('acoin that it moved if it was successful'),
  gas: z.int(),
  gasUsed: z.int(),
  isSuccessful: z.boolean().describe('what it did stayed: neither it nor a call around it failed'),
  error: z.string().nullable().describe('why it failed itself'),
})

const call = callFields.extend({
  input: data.describe('the first bytes; that of the transaction itself is in `detail`'),
  inputSize: z.int(),
  output: data.describe('the first bytes; none of a creation'),
  outputSize: z.int(),
})

export const internalCall = callFields.extend({ height, transaction: hash })

export const callPage = z.object({
  state: traceState,
  count: z.int().describe('calls of the transaction, its own included, also those that are left out'),
  items: z.array(call),
  next: z.int().nullable().describe('`after` of the next page; null: there is none'),
})

const place = z.object({ height, transaction: hash })

/** A page of a list that is made of calls: it lacks those of transactions without a trace. */
export function tracedPageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('`before` of the next page; null on the last page'),
    untraced: place
      .extend({ trace: z.enum(['notKept', 'refused', 'unsupported']) })
      .nullable()
      .describe(
        'the newest transaction in this part of the chain whose calls are not known: the page may lack some; null: none',
      ),
    indexedFrom: height.nullable().describe('blocks before this one are not in the index; null: all are'),
  })
}

export const contract = z.object({
  address,
  creator: address.nullable().describe('null: it is in the genesis'),
  created: place.nullable().describe('null: it is in the genesis'),
  way: z
    .enum(['transaction', 'create', 'create2', 'genesis', 'precompile'])
    .describe('created by a transaction, or by this instruction of `creator`; or in the genesis'),
  label: z.string().nullable().describe('what the genesis calls it'),
  selfDestruct: place.nullable().describe('the newest SELFDESTRUCT that it ran'),
  isDeleted: z
    .boolean()
    .describe('it is gone: from Cancun on that takes a SELFDESTRUCT in the transaction that created it'),
})

export const contractDetail = contract
  .extend({
    creation: z.enum(['known', 'unknown']).describe('unknown: the index has not seen it, see `trace` of transactions'),
    way: contract.shape.way.nullable(),
    code: data.describe('as the node has it now'),
    codeSize: z.int(),
    delegatesTo: address.nullable().describe('an account whose code is that of another (EIP-7702)'),
  })
  .describe('a contract, or an account with a delegation')

const change = <T extends z.ZodType>(of: T) => z.object({ before: of, after: of }).nullable().describe('null: the same')

export const stateChanges = z.object({
  state: z.enum(['kept', 'cut', 'notKept', 'refused', 'unsupported']).describe('what the node tells now; see `trace`'),
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
