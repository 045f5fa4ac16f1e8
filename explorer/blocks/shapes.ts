import { z } from 'zod'
import { address, amount, hash, height, time } from '../api/shapes.ts'

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

export type Block = z.infer<typeof block>
