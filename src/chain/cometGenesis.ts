import { canonicalJson, type Json } from './canonicalJson.ts'
import type { Genesis } from './genesisSchema.ts'

/**
 * The genesis as CometBFT's RPC shows it: with validators and consensus parameters also where CometBFT's own GenesisDoc has them
 * (types/genesis.go).
 */
export function toCometGenesis(genesis: Genesis): Json {
  const { params, validators } = genesis.consensus
  return { ...genesis, consensus_params: params, validators }
}

/** Takes out what {@link toCometGenesis} added, so that such an answer can be a genesis file. What differs stays. */
export function fromCometGenesis(json: unknown): unknown {
  if (!isObject(json) || !isObject(json.consensus)) return json
  const { consensus_params, validators, ...rest } = json
  const isRepeated = isSame(consensus_params, json.consensus.params) && isSame(validators, json.consensus.validators)
  return isRepeated ? rest : json
}

function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b)
}

function isObject(value: unknown): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
