import type { DatabaseReader } from '../../storage/database.ts'
import { tidySegmentFiles } from '../../storage/segmentFile.ts'
import { hashFileName } from '../indexes/hashFile.ts'
import { readAllHashFiles } from '../indexes/hashFileList.ts'
import { listSegments, segmentName } from './segments.ts'
import { listTerms, termsName } from './segmentTerms.ts'

/*
 * Files of segments are written before they are listed in the database, and removed after they are
 * no longer listed. A crash in between leaves a file that is never read.
 */

/**
 * Checks that every listed segment, and every listed file of terms or hashes, exists with its size,
 * and removes files that are not listed. Must be called only while no other thread writes or reads.
 * @throws DatabaseError
 */
export async function tidySegments(database: Pick<DatabaseReader, 'entries' | 'get' | 'location'>): Promise<void> {
  const segments = await listSegments(database)
  const listed = segments.map((segment) => ({ name: segmentName(segment), bytes: segment.bytes }))
  for await (const terms of listTerms(database)) listed.push({ name: termsName(terms), bytes: terms.bytes })
  for (const file of readAllHashFiles(database)) listed.push({ name: hashFileName(file), bytes: file.bytes })
  tidySegmentFiles(database.location, listed)
}
