import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { EVIDENCE_CODEC } from '../chain/comet/evidence.ts'
import type { Evidence } from '../chain/comet/types.ts'
import { ConsensusDecodingError, decodeMessage, encodeMessage } from '../chain/comet/wire.ts'
import { bytesToHex, hexToBytes } from '../primitives/bytes.ts'
import { sha256 } from '../primitives/hash.ts'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'

/**
 * The evidence pool's storage: texts by name. When `write` returns, the text is on stable storage
 * and has replaced an older text with the same name. After a crash the whole new text exists or no
 * part.
 */
export interface EvidenceStore {
  read(): readonly { readonly name: string; readonly text: string }[]
  /** @throws Error when it cannot be written */
  write(name: string, text: string): void
  /** @throws Error when it cannot be removed; a missing one is not an error */
  remove(name: string): void
}

const SUFFIX = '.evidence'

/**
 * Stores evidence in files of `directory`, which is created when it is missing.
 * @throws Error when the directory cannot be created or read
 */
export function openEvidenceFiles(directory: string): EvidenceStore {
  const made = mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (made !== undefined) syncDirectory(dirname(made))
  // Left over from a process that died while it was writing.
  for (const name of readdirSync(directory)) if (name.endsWith('.new')) rmSync(join(directory, name))
  return {
    read: () =>
      readdirSync(directory)
        .filter((name) => name.endsWith(SUFFIX))
        .sort()
        .map((name) => ({
          name: name.slice(0, -SUFFIX.length),
          text: readFileSync(join(directory, name), 'latin1'),
        })),
    write: (name, text) => writeFileDurably(join(directory, `${name}${SUFFIX}`), text, 0o600),
    // Not synced: a file that reappears after a power failure has committed evidence, which the application refuses.
    remove: (name) => rmSync(join(directory, `${name}${SUFFIX}`), { force: true }),
  }
}

/** An entry of the evidence pool on disk. The time of a `pair` is 0, because its block is not decided yet. */
export interface EvidenceRecord {
  readonly kind: 'pair' | 'evidence'
  readonly evidence: Evidence
}

const FORMAT = 'evidence/1'
const TEXT = /^(\S+) (pair|evidence) ([0-9a-f]+) ([0-9a-f]+)\n([0-9a-f]{64})\n$/

/**
 * Encodes a record: one line of format, kind, genesis hash and protobuf bytes; then the line's
 * sha256.
 */
export function encodeEvidenceRecord({ kind, evidence }: EvidenceRecord, genesisHash: Uint8Array): string {
  const line = `${FORMAT} ${kind} ${hex(genesisHash)} ${hex(encodeMessage(EVIDENCE_CODEC, evidence))}\n`
  return `${line}${checksum(line)}\n`
}

/** Undefined when the text is damaged, or was written for another genesis. */
export function decodeEvidenceRecord(text: string, genesisHash: Uint8Array): EvidenceRecord | undefined {
  const [, format, kind, genesis, bytes, sum] = TEXT.exec(text) ?? []
  if (format !== FORMAT || genesis !== hex(genesisHash) || bytes === undefined) return undefined
  if (sum !== checksum(text.slice(0, text.indexOf('\n') + 1))) return undefined
  try {
    return { kind: kind as EvidenceRecord['kind'], evidence: decodeMessage(EVIDENCE_CODEC, hexToBytes(bytes)) }
  } catch (error) {
    if (error instanceof ConsensusDecodingError) return undefined
    throw error
  }
}

function hex(bytes: Uint8Array): string {
  return bytesToHex(bytes).slice(2)
}

function checksum(line: string): string {
  return hex(sha256(Buffer.from(line, 'latin1')))
}
