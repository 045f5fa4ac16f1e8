import { z } from 'zod'
import { height, time } from '../api/shapes.ts'

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

export type NetworkNode = z.infer<typeof node>
export type NodeDetail = z.infer<typeof nodeDetail>
export type Network = z.infer<typeof network>
