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
  .describe('decimal: "0.1" is 10 %')

/** Lists go from the newest to the oldest. */
export const page = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(25).describe('entries per page'),
  before: z.coerce.number().int().min(0).optional().describe('`next` of the previous page'),
})

/** A page of a list. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next: z.number().int().nullable().describe('`before` of the next page; null: this is the last page'),
  })
}

export const block = z.object({
  height,
  hash: hash.describe('hash of the Ethereum header'),
  consensusHash: hash.describe('hash of the consensus header'),
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

export const movement = z.object({
  height,
  /** null: begin or end of the block */
  transaction: hash.nullable().describe('null: moved by the modules at the start or end of the block'),
  kind: z.enum(['transfer', 'fee', 'mint', 'burn']),
  from: address.nullable().describe('null: minted'),
  to: address.nullable().describe('null: burnt'),
  amount,
})

export const account = z.object({
  address,
  bech32: z.string(),
  balance: amount,
  transactions: z.int().nullable().describe('null: too many to count'),
  isContract: z.boolean().describe('true: the index has its creation or one of its logs'),
})

export const status = z.object({
  hasFaucet: z.boolean(),
  chainId: z.string().nullable(),
  evmChainId: z.int().nullable(),
  firstHeight: z.int().nullable(),
  height: z.int().nullable(),
  nodeHeight: z.int().nullable().describe('newest block of the node; null: unknown'),
  chainName: z.string(),
  coinSymbol: z.string(),
  publicRpcUrl: z.string().nullable().describe('RPC address for wallets'),
})

export const found = z.object({
  kind: z.enum(['block', 'transaction', 'address', 'token', 'validator']),
  id: z.string().describe('height, hash or address: the last part of its path in this API'),
  label: z.string().optional().describe('name of a token or validator that was found by its name'),
})

export const node = z.object({
  nodeId: z.string().describe('40 hex digits'),
  isVerified: z.boolean().describe('true: its reports are signed with the key of its node ID'),
  isSilent: z.boolean().describe('true: no report for 90 s'),
  moniker: z.string(),
  version: z.string(),
  height,
  lag: z.int().describe('blocks behind the chain at the time of the report'),
  chain: z.enum(['same', 'other', 'unknown']).describe('same: the index has the same block at this height'),
  peers: z.int(),
  firstSeen: time,
  lastSeen: time,
  rpc: z
    .object({
      url: z.string(),
      latencyMs: z.int().nullable().describe('latency of a valid answer; null: no valid answer'),
      problem: z.string().nullable().describe('why there was no valid answer'),
      askedAt: time.nullable(),
    })
    .nullable()
    .describe('PUBLIC_RPC_URL of a verified node'),
})

export const nodeDetail = node.extend({
  hours: z
    .array(z.object({ time, reports: z.int(), height, lag: z.int(), peers: z.int() }))
    .describe('the last 30 days, newest first; a node sends 120 reports per hour'),
})

export const network = z.object({
  verified: z.int().describe('nodes that are reporting'),
  unverified: z.int().describe('nodes that are reporting'),
  silent: z.int().describe('verified nodes that no longer report'),
  versions: z
    .array(z.object({ version: z.string(), nodes: z.int() }))
    .describe('versions of the verified nodes that are reporting'),
  lags: z
    .array(z.object({ from: z.int(), to: z.int().nullable(), nodes: z.int() }))
    .describe('lag of these nodes, in blocks'),
})

/** Of all modules. */
export const parameters = z.object({
  modules: z.array(
    z.object({
      name: z.string(),
      params: z.record(z.string(), z.unknown()).describe("in the form of the Cosmos SDK's REST"),
    }),
  ),
})

/** Numbers of an hour or a day. */
export const period = z.object({
  start: time,
  blocks: z.int(),
  evmTransactions: z.int(),
  nativeTransactions: z.int(),
  failed: z.int().describe('failed transactions of both kinds'),
  gasUsed: z.int(),
  fees: amount,
  moved: amount.describe('acoin moved between accounts by transactions, without fees'),
  newAccounts: z.int().describe('accounts that received their first coins'),
})

/** What waits for a block. */
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

export const proposal = z.object({
  id: z.int(),
  title: z.string(),
  proposer: address.nullable(),
  status: z
    .enum(['deposit', 'voting', 'passed', 'rejected', 'failed', 'expired', 'cancelled', 'unknown'])
    .describe('failed: it passed, but its messages failed; expired: its minimum deposit was not reached'),
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
    .describe(
      'acoin per option, so far or at the end of voting; null: there was no voting, or the node does not respond',
    ),
  rules: z
    .object({
      bonded: amount.describe('bonded acoin: all stake that can vote'),
      quorum: share.describe('share of the bonded coins that must vote'),
      threshold: share.describe('share of yes, without abstentions, above which the proposal passes'),
      vetoThreshold: share.describe('share of "no with veto" above which the proposal is rejected'),
    })
    .nullable()
    .describe(
      'rules for a proposal in its voting period; null: not in its voting period, or the node does not respond',
    ),
})

export const vote = z.object({
  proposal: z.int(),
  voter: address,
  options: z.array(z.object({ option: z.enum(['yes', 'abstain', 'no', 'noWithVeto']), weight: z.string() })),
  height,
  transaction: hash.nullable(),
  isReplaced: z.boolean().describe('true: the voter voted again, so this vote does not count'),
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
