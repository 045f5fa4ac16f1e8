import { z } from 'zod'

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
