import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { LogConfig } from '../../src/config/config.ts'
import { type ConfigSources, readSettings } from '../../src/config/settings.ts'
import { isPostgres } from '../database/open.ts'
import { EXPLORER_VARIABLES, type ExplorerSettings } from './variables.ts'

/** Everything that the operator of an explorer configures, checked. */
export interface ExplorerConfig extends Omit<ExplorerSettings, 'logLevel' | 'logFormat'> {
  readonly log: LogConfig
}

/**
 * The configuration from flags, environment and `.env`. The directory of an SQLite file is made.
 * @param homeDirectory what `~` stands for
 * @throws ConfigError with one line for the operator
 */
export function loadExplorerConfig(sources: ConfigSources, homeDirectory: string): ExplorerConfig {
  const { logLevel, logFormat, ...settings } = readSettings(EXPLORER_VARIABLES, sources)
  return {
    ...settings,
    database: placeOf(settings.database, homeDirectory),
    compilers: settings.compilers === undefined ? undefined : fromHome(settings.compilers, homeDirectory),
    compilerCache: fromHome(settings.compilerCache, homeDirectory),
    faucetKeyFile: settings.faucetKeyFile === undefined ? undefined : fromHome(settings.faucetKeyFile, homeDirectory),
    log: { level: logLevel, format: logFormat },
  }
}

function placeOf(text: string, homeDirectory: string): string {
  if (isPostgres(text)) return text
  const path = fromHome(text, homeDirectory)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return path
}

function fromHome(path: string, homeDirectory: string): string {
  return resolve(path.startsWith('~/') ? join(homeDirectory, path.slice(2)) : path)
}
