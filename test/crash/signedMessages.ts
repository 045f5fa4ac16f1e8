import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { genesisHash, parseGenesis } from '../../src/chain/genesis/genesis.ts'
import type { SignedEntry } from '../../src/consensus/walEntry.ts'
import { readSegment } from '../../src/consensus/walSegment.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'

/** What a validator has signed, with one key or several, over the whole life of a chain. */
export class SignedMessages {
  readonly #blocks = new Map<string, string>()
  readonly #heights = new Map<string, Set<number>>()

  get size(): number {
    return this.#blocks.size
  }

  /** hash of the block that was precommitted at this height */
  precommitted(height: number): string | undefined {
    return this.#blocks.get(`precommit ${height}/0`)
  }

  /** Heights whose votes the key with this address has signed. @param address 20 bytes */
  heightsOf(address: Uint8Array): ReadonlySet<number> {
    return this.#heights.get(bytesToHex(address)) ?? new Set()
  }

  /**
   * Adds what the write-ahead log of a node holds, which may be running.
   * @throws Error when two different messages of one height, round and kind are signed
   */
  addFrom(homedir: string): void {
    const paths = dataPaths(homedir)
    const hash = genesisHash(parseGenesis(readFileSync(paths.genesis, 'utf8')))
    for (const name of readdirSync(paths.wal).sort()) {
      if (!name.endsWith('.wal')) continue
      readSegment(name, new Uint8Array(readFileSync(join(paths.wal, name))), hash, (entry) => {
        if (entry.kind === 'proposal' || entry.kind === 'vote') this.#add(entry)
      })
    }
  }

  #add(entry: SignedEntry): void {
    const { height, round, blockId } = entry.kind === 'proposal' ? entry.proposal : entry.vote
    const kind = entry.kind === 'proposal' ? 'proposal' : entry.vote.type === 1 ? 'prevote' : 'precommit'
    const key = `${kind} ${height}/${round}`
    const block = bytesToHex(blockId.hash)
    const known = this.#blocks.get(key)
    if (known !== undefined && known !== block) throw new Error(`${key} is signed for ${known} and for ${block}`)
    this.#blocks.set(key, block)
    if (entry.kind !== 'vote') return
    const address = bytesToHex(entry.vote.validatorAddress)
    this.#heights.set(address, (this.#heights.get(address) ?? new Set()).add(height))
  }
}
