import type { NativeStore } from '../../state/world.ts'
import { type Metadata, putMetadata } from './metadata.ts'
import { BANK_PARAMS, type BankParams, type SendEnabled } from './params.ts'
import { setSendEnabled } from './sendEnabled.ts'

/** The module's part of the genesis; balances and the supply are the world's. */
export interface BankGenesis {
  readonly params: BankParams
  readonly sendEnabled: readonly SendEnabled[]
  readonly metadata: readonly Metadata[]
}

/** Writes the module's part of block 0. Entries that the parameters still hold become entries of their own. */
export function initBank(native: Pick<NativeStore, 'set'>, { params, sendEnabled, metadata }: BankGenesis): void {
  BANK_PARAMS.set(native, { ...params, sendEnabled: [] })
  for (const entry of [...params.sendEnabled, ...sendEnabled]) setSendEnabled(native, entry)
  for (const entry of metadata) putMetadata(native, entry)
}
