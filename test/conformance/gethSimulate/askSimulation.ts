import type { Answer } from './differences.ts'
import type { SimulateParams } from './simulateRequest.ts'

/** @returns what the RPC at a URL answers to eth_simulateV1 */
export async function askSimulation(url: string, params: SimulateParams): Promise<Answer> {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params }),
  })
  const { result, error } = (await reply.json()) as { result?: unknown; error?: unknown }
  return error === undefined ? { result } : { error }
}
