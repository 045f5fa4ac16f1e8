import { EVIDENCE_CODEC } from '../chain/consensus/evidence.ts'
import type { Evidence } from '../chain/consensus/types.ts'
import { ConsensusDecodingError, decodeMessage, encodeMessage } from '../chain/consensus/wire.ts'
import { bytesToHex, hexToBytes } from '../primitives/bytes.ts'
import { sha256 } from '../primitives/hash.ts'

/** What the evidence pool keeps on disk; the time of a `pair` is 0, since its block is not decided yet. */
export interface EvidenceRecord {
  readonly kind: 'pair' | 'evidence'
  readonly evidence: Evidence
}

const FORMAT = 'evidence/1'
const TEXT = /^(\S+) (pair|evidence) ([0-9a-f]+) ([0-9a-f]+)\n([0-9a-f]{64})\n$/

/** One line of format, kind, genesis hash and protobuf bytes; then the sha256 of that line. */
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
