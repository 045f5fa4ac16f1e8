import { z } from 'zod'

/*
 * What the API answers with. Amounts are decimal texts in acoin or a token's base units, times RFC 3339, hashes and data 0x…, addresses in
 * their checksummed form. The OpenAPI document is made from these.
 */

export const amount = z
  .string()
  .regex(/^[0-9]+$/)
  .describe('base units, decimal')
export const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .describe('EIP-55 checksummed')
export const hash = z.string().regex(/^0x[0-9a-f]{64}$/)
export const height = z.int().min(0)
const time = z.iso.datetime()
/** A number from 0 to 1, as the SDK counts. */
export const share = z
  .string()
  .regex(/^[0-9]+(\.[0-9]{1,18})?$/)
  .describe('decimal: "0.1" are 10 %')

/** Lists go from the newest to the oldest. */
export const page = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(25).describe('how many'),
  before: z.coerce.number().int().min(0).optional().describe('`next` of the page before this one'),
})

/** A page of a list. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next: z.number().int().nullable().describe('`before` of the next page; null: there is none'),
  })
}

export const block = z.object({
  height,
  hash: hash.describe('of the Ethereum header'),
  consensusHash: hash.describe('of the consensus header'),
  time,
  proposer: z.string().describe('address of the consensus key, 40 hex digits'),
  feeRecipient: address,
  gasUsed: z.int(),
  gasLimit: z.int(),
  baseFeePerGas: amount,
  evmTransactions: z.int(),
  nativeTransactions: z.int(),
  size: z.int().describe('bytes'),
})

export const transaction = z.object({
  hash,
  kind: z.enum(['evm', 'native']),
  height,
  index: z.int().describe('in the block, transactions of both kinds counted'),
  time,
  isSuccessful: z.boolean(),
  from: address.describe('who signed it; the first signer of a native one'),
  to: address.nullable(),
  value: amount,
  fee: amount,
  gasUsed: z.int(),
  gasLimit: z.int(),
  nonce: z.int(),
  method: z.string().nullable().describe('selector of a call, or type of the first message'),
})

export const movement = z.object({
  height,
  /** null: begin or end of the block */
  transaction: hash.nullable().describe('null: by the modules at the begin or end of the block'),
  kind: z.enum(['transfer', 'fee', 'mint', 'burn']),
  from: address.nullable().describe('null: minted'),
  to: address.nullable().describe('null: burnt'),
  amount,
})

export const account = z.object({
  address,
  bech32: z.string(),
  balance: amount,
  transactions: z.int().nullable().describe('null: more than are counted at once'),
  isContract: z.boolean().describe('the index has seen its creation, or a log of it'),
})

export const status = z.object({
  hasFaucet: z.boolean(),
  chainId: z.string().nullable(),
  evmChainId: z.int().nullable(),
  firstHeight: z.int().nullable(),
  height: z.int().nullable(),
  nodeHeight: z.int().nullable().describe('newest block of the node, as far as it is known'),
  chainName: z.string(),
  coinSymbol: z.string(),
  publicRpcUrl: z.string().nullable().describe('what wallets connect to'),
})

export const found = z.object({
  kind: z.enum(['block', 'transaction', 'address', 'token', 'validator']),
  id: z.string().describe('height, hash or address: the last part of its path here'),
  label: z.string().optional().describe('of a token or a validator found by its name: what it calls itself'),
})

export const node = z.object({
  nodeId: z.string().describe('40 hex digits'),
  isVerified: z.boolean().describe('its reports are signed by the key of its node ID'),
  isSilent: z.boolean().describe('no report for 90 s'),
  moniker: z.string(),
  version: z.string(),
  height,
  lag: z.int().describe('blocks that it was behind the chain when it reported'),
  chain: z.enum(['same', 'other', 'unknown']).describe('whether its block is that of the index at this height'),
  peers: z.int(),
  firstSeen: time,
  lastSeen: time,
  rpc: z
    .object({
      url: z.string(),
      latencyMs: z.int().nullable().describe('of a right answer; null: there was none'),
      problem: z.string().nullable().describe('why there was none'),
      askedAt: time.nullable(),
    })
    .nullable()
    .describe('PUBLIC_RPC_URL of a verified node'),
})

export const nodeDetail = node.extend({
  hours: z
    .array(z.object({ time, reports: z.int(), height, lag: z.int(), peers: z.int() }))
    .describe('the last 30 days, newest first; 120 reports make an hour'),
})

export const network = z.object({
  verified: z.int().describe('that report now'),
  unverified: z.int().describe('that report now'),
  silent: z.int().describe('verified ones that no longer report'),
  versions: z.array(z.object({ version: z.string(), nodes: z.int() })).describe('of verified nodes that report now'),
  lags: z
    .array(z.object({ from: z.int(), to: z.int().nullable(), nodes: z.int() }))
    .describe('blocks behind the chain, of the same nodes'),
})

/** Of all modules. */
export const parameters = z.object({
  modules: z.array(
    z.object({
      name: z.string(),
      params: z.record(z.string(), z.unknown()).describe('as the REST of the Cosmos SDK writes them'),
    }),
  ),
})

/** Numbers of an hour or a day. */
export const period = z.object({
  start: time,
  blocks: z.int(),
  evmTransactions: z.int(),
  nativeTransactions: z.int(),
  failed: z.int().describe('transactions of both kinds that failed'),
  gasUsed: z.int(),
  fees: amount,
  moved: amount.describe('acoin that transactions moved between accounts, fees not counted'),
  newAccounts: z.int().describe('accounts that got their first coins'),
})

/** What waits for a block. */
export const mempool = z.object({
  total: z.int().describe('transactions of both kinds that wait for a block'),
  bytes: z.int().describe('of all of them'),
  pending: z.int().describe('EVM transactions that can be in the next block'),
  queued: z.int().describe('EVM transactions that wait for one with a lower nonce'),
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
    .describe('the first 50 in the order in which the pool would give them to a block'),
})

export const proposal = z.object({
  id: z.int(),
  title: z.string(),
  proposer: address.nullable(),
  status: z
    .enum(['deposit', 'voting', 'passed', 'rejected', 'failed', 'expired', 'cancelled', 'unknown'])
    .describe('failed: it passed, and its messages failed; expired: its deposit was not reached'),
  isExpedited: z.boolean(),
  submitTime: time.nullable(),
  depositEndTime: time.nullable(),
  votingStartTime: time.nullable(),
  votingEndTime: time.nullable(),
  totalDeposit: amount,
})

export const proposalDetail = proposal.extend({
  summary: z.string(),
  metadata: z.string(),
  messages: z.array(z.record(z.string(), z.unknown())),
  failedReason: z.string(),
  tally: z
    .object({ yes: amount, abstain: amount, no: amount, noWithVeto: amount })
    .nullable()
    .describe('acoin that voted so: until now, or at the end; null: nobody could vote, or the node does not answer'),
  rules: z
    .object({
      bonded: amount.describe('acoin of all that could vote now'),
      quorum: share.describe('of the bonded coins that has to vote'),
      threshold: share.describe('of the votes without abstentions that has to be yes'),
      vetoThreshold: share.describe('of all votes; with more than that of no with veto it is rejected'),
    })
    .nullable()
    .describe('what decides a proposal that is being voted on; null: it is not, or the node does not answer'),
})

export const vote = z.object({
  proposal: z.int(),
  voter: address,
  options: z.array(z.object({ option: z.enum(['yes', 'abstain', 'no', 'noWithVeto']), weight: z.string() })),
  height,
  transaction: hash.nullable(),
  isReplaced: z.boolean().describe('the voter voted again: this one does not count'),
})

export const deposit = z.object({ proposal: z.int(), depositor: address, amount, height, transaction: hash.nullable() })

export const problem = z.object({ error: z.string() })

export type Proposal = z.infer<typeof proposal>
export type ProposalDetail = z.infer<typeof proposalDetail>
export type Vote = z.infer<typeof vote>
export type Deposit = z.infer<typeof deposit>
export type Block = z.infer<typeof block>
export type Transaction = z.infer<typeof transaction>
export type Movement = z.infer<typeof movement>
export type NetworkNode = z.infer<typeof node>
