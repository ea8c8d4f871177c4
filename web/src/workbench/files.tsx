// Files that an event has saved.
import { useQuery } from '@tanstack/react-query';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { ArtifactVersion, Key } from '../api/types';
import { Link, to } from '../router';

/** Pictures that a browser can be trusted to show. */
export const isPicture = (mimeType: string) => /^image\/(png|jpe?g|gif|webp|avif|bmp)$/.test(mimeType);

/** What a browser can play: it takes sound and pictures from it, and nothing else. */
export const isSound = (mimeType: string) => /^audio\/[\w.+-]+$/.test(mimeType);
export const isVideo = (mimeType: string) => /^video\/[\w.+-]+$/.test(mimeType);

/** The type of a file, without its parameters. */
export const typeOf = (version: ArtifactVersion) => version.mimeType.split(';')[0]!.trim().toLowerCase();

/** Plays a file. It is loaded when it is played, but for its beginning. */
export function Player({ mimeType, address, name }: { mimeType: string; address: string; name: string }) {
  if (isSound(mimeType)) return <audio controls preload="metadata" src={address} aria-label={name} className="my-1 h-9 w-full max-w-[420px]" />;
  return <video controls preload="metadata" src={address} aria-label={name} className="my-1 max-h-[70vh] max-w-full rounded-md" />;
}

/** A file in the log: its name leads to it. A picture is shown, and what can be played can be played. */
export function SavedFile({ id, name, version }: { id: Key; name: string; version: number }) {
  const about = useQuery({
    queryKey: ['artifact', id, name, version],
    staleTime: Infinity, // versions do not change
    retry: false,
    queryFn: ({ signal }) => ask<ArtifactVersion>(calls.artifactVersion(id, name, version), signal),
  });
  return (
    <div data-file={name}>
      <p className="truncate font-mono text-2xs leading-5 text-faint">
        saves <Link href={to.artifact(id, name, version)} className="text-accent underline">{name}</Link>, version {version}{about.isError && ', which is gone'}
      </p>
      {about.data && isPicture(about.data.mimeType) && (
        <Link href={to.artifact(id, name, version)} aria-label={`Look at ${name}`} className="block w-fit">
          <img src={calls.artifact(id, name, version).path} alt={name} className="my-1 max-h-72 min-h-8 min-w-8 max-w-full rounded-md border border-line bg-sheet" />
        </Link>
      )}
      {about.data && (isSound(typeOf(about.data)) || isVideo(typeOf(about.data))) && <Player mimeType={typeOf(about.data)} address={calls.artifact(id, name, version).path} name={name} />}
    </div>
  );
}
