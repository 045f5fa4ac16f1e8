import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  type ConsensusBlock,
  dataHash,
  decodeBlock,
  decodeHeader,
  encodeBlock,
  encodeHeader,
  headerHash,
} from '../../../../src/chain/comet/block.ts'
import { commitHash } from '../../../../src/chain/comet/commit.ts'
import { evidenceHash } from '../../../../src/chain/comet/evidence.ts'
import { createPartSet, encodePart } from '../../../../src/chain/comet/partSet.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { loadVectors, recipeTxs, toCommit, toEvidence, toHeader } from '../../../support/chain/comet/goldenVectors.ts'

const hex = (bytes: Uint8Array) => bytesToHex(bytes).slice(2)
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const evidence = loadVectors('evidence').items.map(toEvidence)

describe('blocks', () => {
  it.each(loadVectors('blocks'))('$txCount transactions of $txSize bytes', (vector) => {
    const header = toHeader(vector.header)
    expect(hex(encodeHeader(header))).toBe(vector.headerProto)
    expect(decodeHeader(hexToBytes(vector.headerProto))).toEqual(header)
    expect(hex(headerHash(header))).toBe(vector.hash)

    const block: ConsensusBlock = {
      header,
      txs: recipeTxs(vector.txCount, vector.txSize),
      evidence: evidence.slice(0, vector.evidence),
      lastCommit: toCommit(vector.lastCommit),
    }
    expect(dataHash(block.txs)).toEqual(header.dataHash)
    expect(commitHash(block.lastCommit)).toEqual(header.lastCommitHash)
    expect(evidenceHash(block.evidence)).toEqual(header.evidenceHash)
    const bytes = encodeBlock(block)
    if (vector.proto !== undefined) expect(hex(bytes)).toBe(vector.proto)
    expect(bytes.length).toBe(vector.length)
    expect(sha256(bytes)).toBe(vector.sha256)
    expect(decodeBlock(bytes)).toEqual(block)

    const partSet = createPartSet(bytes)
    expect({ total: partSet.header.total, hash: hex(partSet.header.hash) }).toEqual(vector.partSetHeader)
    expect(
      partSet.parts.map((part) => ({
        proof: {
          total: part.proof.total,
          index: part.proof.index,
          leafHash: hex(part.proof.leafHash),
          aunts: part.proof.aunts.map(hex),
        },
        protoSha256: sha256(encodePart(part)),
        size: part.bytes.length,
      })),
    ).toEqual(vector.parts)
  })
})
