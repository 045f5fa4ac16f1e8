import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigError } from '../../config/configError.ts'
import type { Terminal } from '../ports.ts'
import type { MessageJson } from './txCommand.ts'

/**
 * What a JSON file holds.
 * @throws ConfigError when it cannot be read as JSON
 */
export function readJsonFile(path: string, { workingDirectory }: Pick<Terminal, 'workingDirectory'>): unknown {
  const file = resolve(workingDirectory, path)
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new ConfigError(`${file} cannot be read as JSON (${(error as Error).message})`)
  }
}

/**
 * The messages in a file: an array of objects with `@type`, or one such object.
 * @throws ConfigError when it holds anything else
 */
export function readMessages(path: string, terminal: Pick<Terminal, 'workingDirectory'>): readonly MessageJson[] {
  const value = readJsonFile(path, terminal)
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length === 0 || !list.every(isMessage)) {
    throw new ConfigError(`${path} must hold an array of messages, each an object with its @type`)
  }
  return list
}

function isMessage(value: unknown): value is MessageJson {
  return typeof value === 'object' && value !== null && typeof (value as { '@type'?: unknown })['@type'] === 'string'
}
