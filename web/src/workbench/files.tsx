// Files that an event has saved.
import { useQuery } from '@tanstack/react-query';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { ArtifactVersion, Key } from '../api/types';
import { Link, to } from '../router';

/** Pictures that a browser can be trusted to show. */
export const isPicture = (mimeType: string) => /^image\/(png|jpe?g|gif|webp|avif|bmp)$/.test(mimeType);

/** A file in the log: its name leads to it, and a picture is shown. */
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
          <img src={calls.artifact(id, name, version).path} alt={name} className="my-1 max-h-72 max-w-full rounded-md border border-line bg-sheet" />
        </Link>
      )}
    </div>
  );
}
