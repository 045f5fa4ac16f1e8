import { type Address, parseAddress } from '../../src/primitives/address.ts'
import { bytesKey, keyBytes } from '../../src/primitives/bytes.ts'
import type { IndexWriter } from '../database/indexDatabase.ts'
import type { Tables } from '../database/schema.ts'
import type { GenesisAnswer } from '../node/answers.ts'
import { CREATION_KINDS } from './tables.ts'

/** A contract that was created, or that ran SELFDESTRUCT. */
export interface ContractChange {
  readonly position: number
  /** place in the tree of the transaction's calls */
  readonly ordinal: number
  readonly address: Address
  /** undefined: it ran SELFDESTRUCT */
  readonly created: { readonly creator: Address; readonly kind: number } | undefined
}

type Contract = Tables['contract']

/** Contracts asked for in one query. Both databases take more parameters than this. */
const QUERIED_AT_ONCE = 500

/** Writes contracts after these changes, which are in the order in which they happened. */
export async function applyContracts(writer: IndexWriter, changes: readonly ContractChange[]): Promise<void> {
  const contracts = await loadDestroyed(writer, changes)
  const changed = new Set<string>()
  for (const { position, ordinal, address, created } of changes) {
    const key = bytesKey(address)
    if (created !== undefined) {
      const { creator, kind } = created
      contracts.set(key, { address, position, ordinal, creator, kind, destroyed: null, is_deleted: 0, label: null })
    } else {
      const contract = contracts.get(key)
      // Of a contract from before the index, or an account that runs another's code (EIP-7702).
      if (contract === undefined) continue
      contract.destroyed = position
      if (contract.position === position) contract.is_deleted = 1
    }
    changed.add(key)
  }
  await writer.replace(
    'contract',
    [...changed].map((key) => contracts.get(key)!),
  )
}

async function loadDestroyed(
  { queries }: IndexWriter,
  changes: readonly ContractChange[],
): Promise<Map<string, Contract>> {
  const destroyed = changes.filter(({ created }) => created === undefined)
  const keys = [...new Set(destroyed.map(({ address }) => bytesKey(address)))]
  const loaded = new Map<string, Contract>()
  for (let at = 0; at < keys.length; at += QUERIED_AT_ONCE) {
    const rows = await queries
      .selectFrom('contract')
      .selectAll()
      .where('address', 'in', keys.slice(at, at + QUERIED_AT_ONCE).map(keyBytes))
      .execute()
    for (const row of rows) loaded.set(bytesKey(row.address), row)
  }
  return loaded
}

/** Writes the contracts that the chain began with: preinstalled ones, and precompiles. */
export async function writeGenesisContracts(
  writer: IndexWriter,
  { genesis: { app_state } }: GenesisAnswer,
): Promise<void> {
  const { evm, erc20 } = app_state
  const contracts = new Map<string, Pick<Contract, 'address' | 'kind' | 'label'>>()
  const put = (text: string, kind: number, label: string | null): void => {
    const address = parseAddress(text)
    contracts.set(bytesKey(address), { address, kind, label })
  }
  for (const { address, name } of evm?.preinstalls ?? []) put(address, CREATION_KINDS.genesis, name)
  const precompiles = [...(evm?.params.active_static_precompiles ?? []), ...(erc20?.native_precompiles ?? [])]
  for (const address of precompiles) put(address, CREATION_KINDS.precompile, null)
  await writer.insert(
    'contract',
    [...contracts.values()].map((contract, ordinal) => {
      return { ...contract, position: 0, ordinal, creator: null, destroyed: null, is_deleted: 0 }
    }),
  )
}
