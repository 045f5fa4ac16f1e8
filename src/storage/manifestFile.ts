import { closeSync, existsSync, fstatSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { damagedFile } from './damage.ts'
import { LevelReader, type OpenFile, readBytes } from './levelFormat.ts'
import { type FileRecord, readRecords } from './recordFile.ts'

/*
 * The MANIFEST of a LevelDB directory: the list of its tables and logs. Its records are changes of
 * that list.
 */

/** A table of the database. */
export interface Table {
  readonly number: number
  readonly size: number
  /** its smallest and largest key; undefined where no MANIFEST lists the table */
  readonly keys: readonly [Uint8Array, Uint8Array] | undefined
}

/** Contents of the MANIFEST. */
export interface Manifest {
  readonly tables: readonly Table[]
  /** the logs from this number on are not in tables yet; 0: none was begun */
  readonly firstLog: number
  /** number of the newest write when that log became the first one */
  readonly sequenceAtFirstLog: number
}

/** Returns the tables in a directory, whether the database has them or not. */
export function tablesIn(location: string): readonly Table[] {
  const names = existsSync(location) ? readdirSync(location).filter((name) => /^\d+\.(ldb|sst)$/.test(name)) : []
  return names.sort().map((name) => ({
    number: Number.parseInt(name, 10),
    size: statSync(join(location, name)).size,
    keys: undefined,
  }))
}

const MANIFEST = /^MANIFEST-(\d+)\n$/

/**
 * Reads the MANIFEST; returns undefined when the directory holds no database. A database whose
 * creation was interrupted by a kill does not count.
 * @throws DatabaseError when it is damaged
 */
export function readManifest(location: string): Manifest | undefined {
  const current = join(location, 'CURRENT')
  if (!existsSync(current)) {
    if (existsSync(location) && readdirSync(location).some(isOfDatabase)) {
      throw damagedFile(current, undefined, 'it is missing')
    }
    return undefined
  }
  const name = readFileSync(current, 'latin1')
  if (!MANIFEST.test(name)) throw damagedFile(current, 0, 'it does not name a MANIFEST')
  const path = join(location, name.trim())
  if (!existsSync(path)) throw damagedFile(path, undefined, 'CURRENT names it, but it is missing')
  const { records, damagedAt } = readRecords(readWholeFile(path))
  if (damagedAt !== undefined) throw damagedFile(path, damagedAt, 'a record does not have its checksum')
  return decodeManifest(path, records)
}

/** Files that only an existing database has: LevelDB writes the first MANIFEST before CURRENT. */
function isOfDatabase(name: string): boolean {
  return /\.(log|ldb|sst)$/.test(name) || (name.startsWith('MANIFEST-') && name !== 'MANIFEST-000001')
}

const Tag = {
  comparator: 1,
  logNumber: 2,
  nextFileNumber: 3,
  lastSequence: 4,
  compactPointer: 5,
  deletedFile: 6,
  newFile: 7,
  previousLogNumber: 9,
} as const

function decodeManifest(path: string, records: readonly FileRecord[]): Manifest {
  const tables = new Map<number, Table>()
  const numbers = new Map<number, number>()
  let sequenceAtFirstLog: number | undefined
  for (const { offset, payload } of records) {
    const formerLog = numbers.get(Tag.logNumber)
    try {
      applyEdit(new LevelReader(payload), tables, numbers)
    } catch (error) {
      throw damagedFile(path, offset, `a record cannot be decoded: ${(error as Error).message}`, error)
    }
    if (numbers.get(Tag.logNumber) !== formerLog) sequenceAtFirstLog = numbers.get(Tag.lastSequence)
  }
  const firstLog = numbers.get(Tag.logNumber)
  if (firstLog === undefined || sequenceAtFirstLog === undefined) {
    throw damagedFile(path, undefined, 'its first records are missing')
  }
  return { tables: [...tables.values()].sort((a, b) => b.number - a.number), firstLog, sequenceAtFirstLog }
}

/** Applies one record of the MANIFEST: changes of the list of tables, and numbers that replace earlier ones. */
function applyEdit(reader: LevelReader, tables: Map<number, Table>, numbers: Map<number, number>): void {
  const added: Table[] = []
  while (!reader.isDone) {
    const tag = reader.varint()
    switch (tag) {
      case Tag.comparator:
        reader.take(reader.varint())
        break
      case Tag.logNumber:
      case Tag.nextFileNumber:
      case Tag.lastSequence:
      case Tag.previousLogNumber:
        numbers.set(tag, reader.varint())
        break
      case Tag.compactPointer:
        reader.varint()
        reader.take(reader.varint())
        break
      case Tag.deletedFile:
        reader.varint()
        tables.delete(reader.varint())
        break
      case Tag.newFile: {
        reader.varint()
        const [number, size] = [reader.varint(), reader.varint()]
        added.push({ number, size, keys: [readKey(reader), readKey(reader)] })
        break
      }
      default:
        throw new RangeError(`no tag ${tag}`)
    }
  }
  // A table that moves to another level is deleted from one and added to the other in the same record.
  for (const table of added) tables.set(table.number, table)
}

/** Bytes behind each key: the operation (1 byte), and the number of the write (7 bytes). */
const SEQUENCE_BYTES = 8

function readKey(reader: LevelReader): Uint8Array {
  return reader.take(reader.varint()).subarray(0, -SEQUENCE_BYTES)
}

/** @throws DatabaseError when the disk cannot read it */
export function readWholeFile(path: string): Uint8Array {
  const file: OpenFile = { path, descriptor: openSync(path, 'r') }
  try {
    return readBytes(file, 0, fstatSync(file.descriptor).size)
  } finally {
    closeSync(file.descriptor)
  }
}
