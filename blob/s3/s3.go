// Package s3 keeps large content in a bucket of an S3-compatible store.
//
//	store, err := s3.Open("s3://bucket/prefix?endpoint=https://s3.example.com")
//	id, err := store.Put(ctx, output)
//
// The object of content is named by its SHA-256. The server is given that hash with every byte that is stored and
// refuses what does not match, so an object is there whole or not at all. What is there already is not sent again,
// but for once a day, so that a rule of the bucket that deletes old objects goes by when content was last stored.
//
// Reading goes on where a connection broke off, with a request for the rest.
package s3

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"

	"github.com/clew-dev/clew/blob"
)

// Options says where a bucket is and how it is used.
type Options struct {
	Bucket   string
	Prefix   string // of all names. Stores with prefixes of their own share a bucket.
	Endpoint string // URL of the server. Default: Amazon's.
	Region   string // Default: $AWS_REGION, or what the server says.

	PathStyle bool   // puts the bucket into the path. Default: into the host name at Amazon, else into the path.
	HostStyle bool   // puts it into the host name
	Encrypt   string // has the server encrypt: "AES256", or "aws:kms" with the key KMSKey. Default: as the bucket says.
	KMSKey    string

	// AccessKey and SecretKey sign requests. Default: $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, the file
	// $AWS_SHARED_CREDENTIALS_FILE, the role of the machine or of the pod.
	AccessKey, SecretKey string

	Tries     int               // of each request. Default: 3
	Transport http.RoundTripper // Default: that of minio-go, with a limit of 30 seconds to the beginning of an answer
	Now       func() time.Time  // Default: time.Now
}

// fresh is how long content counts as stored just now.
const fresh = 24 * time.Hour

// Store keeps content in a bucket. It implements blob.Store.
type Store struct {
	opt    Options
	core   *minio.Core
	sealed encrypt.ServerSide
}

var _ blob.Store = (*Store)(nil)

// Parse reads an address such as
//
//	s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1&style=path&encrypt=aws:kms&kms-key=ID
//
// All but the bucket may be left out. Keys don't belong into it.
func Parse(address string) (opt Options, err error) {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "") {
		err = errors.New("write s3://BUCKET/PREFIX?endpoint=URL; keys come from the environment")
	}
	if err != nil {
		return opt, fail("open", hide(address), err)
	}
	opt.Bucket, opt.Prefix = u.Host, strings.Trim(u.Path, "/")
	for name, values := range u.Query() {
		v := values[0]
		switch name {
		case "endpoint":
			opt.Endpoint = v
		case "region":
			opt.Region = v
		case "style":
			opt.PathStyle, opt.HostStyle = v == "path", v == "host"
			if !opt.PathStyle && !opt.HostStyle {
				err = fmt.Errorf("style=%s: there are path and host", v)
			}
		case "encrypt":
			opt.Encrypt = v
		case "kms-key":
			opt.KMSKey = v
		default:
			err = fmt.Errorf("there is no %q; there are endpoint, region, style, encrypt and kms-key", name)
		}
	}
	if err != nil {
		return opt, fail("open", hide(address), err)
	}
	return opt, nil
}

// hide leaves out what may be a password.
func hide(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "the bucket"
}

// New returns the store in a bucket. It asks the server nothing, and needs no closing.
func New(opt Options) (*Store, error) {
	s := &Store{opt: opt}
	if err := s.connect(); err != nil {
		return nil, fail("open", "bucket "+opt.Bucket, err)
	}
	return s, nil
}

// Open is New at an address.
func Open(address string) (*Store, error) {
	opt, err := Parse(address)
	if err != nil {
		return nil, err
	}
	return New(opt)
}

// Below returns the store in a folder of this one: that of a session, say.
func (s *Store) Below(folder string) *Store {
	below := *s
	below.opt.Prefix = path.Join(s.opt.Prefix, folder)
	return &below
}

func (s *Store) connect() (err error) {
	opt := &s.opt
	opt.Endpoint = cmp.Or(opt.Endpoint, "https://s3.amazonaws.com")
	opt.Region = cmp.Or(opt.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	opt.Tries = cmp.Or(opt.Tries, 3)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	u, err := url.Parse(opt.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("the endpoint %s is no address of a server; write https://HOST", hide(opt.Endpoint))
	}
	o := &minio.Options{Secure: u.Scheme == "https", Region: opt.Region, MaxRetries: opt.Tries, Transport: opt.Transport}
	switch {
	case opt.PathStyle:
		o.BucketLookup = minio.BucketLookupPath
	case opt.HostStyle:
		o.BucketLookup = minio.BucketLookupDNS
	}
	switch {
	case opt.Encrypt == "" && opt.KMSKey == "":
	case opt.Encrypt == "AES256" && opt.KMSKey == "":
		s.sealed = encrypt.NewSSE()
	case opt.Encrypt == "aws:kms":
		if s.sealed, err = encrypt.NewSSEKMS(opt.KMSKey, nil); err != nil {
			return err
		}
	default:
		return fmt.Errorf("encryption %q with the key %q: there are AES256 without a key, and aws:kms", opt.Encrypt, opt.KMSKey)
	}
	if opt.AccessKey != "" {
		o.Creds = credentials.NewStaticV4(opt.AccessKey, opt.SecretKey, "")
	} else {
		o.Creds = credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}})
	}
	if o.Transport == nil {
		t, err := minio.DefaultTransport(o.Secure)
		if err != nil {
			return err
		}
		t.ResponseHeaderTimeout = 30 * time.Second
		o.Transport = t
	}
	s.core, err = minio.NewCore(u.Host, o)
	return err
}

func (s *Store) name(id blob.ID) string { return path.Join(s.opt.Prefix, id.String()) }

// Put implements blob.Store. Content is kept in memory or in a temporary file first, for its hash is its name.
func (s *Store) Put(ctx context.Context, r io.Reader) (blob.ID, error) {
	var held spool
	defer held.remove()
	id, err := blob.Copy(ctx, &held, r)
	if err == nil {
		err = s.put(ctx, id, &held)
	}
	if err != nil {
		return blob.ID{}, s.fail("put", id, err)
	}
	return id, nil
}

// maxConflicts is after how many conflicts with other requests content is given up.
const maxConflicts = 5

func (s *Store) put(ctx context.Context, id blob.ID, held *spool) error {
	for try := 1; ; try++ {
		there, sound, err := s.has(ctx, id, held.size)
		if err != nil || sound {
			return err
		}
		opt := minio.PutObjectOptions{ServerSideEncryption: s.sealed, DisableContentSha256: true, UserMetadata: map[string]string{checksumHeader: sum(id)}}
		if !there {
			opt.SetMatchETagExcept("*")
		}
		body, err := held.reader()
		if err != nil {
			return err
		}
		_, err = s.core.PutObject(ctx, s.opt.Bucket, s.name(id), body, held.size, "", hex.EncodeToString(id[:]), opt)
		r := minio.ToErrorResponse(err)
		if try < maxConflicts && !there && (r.StatusCode == http.StatusPreconditionFailed || r.Code == "ConditionalRequestConflict") {
			continue // somebody else has just put it there, or is about to
		}
		return err
	}
}

// checksumHeader has the server check and keep the hash, so that what is there can be told from damage.
const checksumHeader = "x-amz-checksum-sha256"

func sum(id blob.ID) string { return base64.StdEncoding.EncodeToString(id[:]) }

// has reports whether there is an object, and whether it is sound and was stored a short while ago.
func (s *Store) has(ctx context.Context, id blob.ID, size int64) (there, sound bool, err error) {
	o, err := s.core.StatObject(ctx, s.opt.Bucket, s.name(id), minio.StatObjectOptions{Checksum: true})
	if isNone(err) {
		return false, false, nil
	}
	return err == nil, o.Size == size && o.ChecksumSHA256 == sum(id) && s.opt.Now().Sub(o.LastModified) < fresh, err
}

// isNone reports whether err says that there is no such object.
func isNone(err error) bool {
	r := minio.ToErrorResponse(err)
	return err != nil && (r.Code == minio.NoSuchKey || r.Code == "NoSuchVersion")
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, id blob.ID) (blob.Info, error) {
	o, err := s.core.StatObject(ctx, s.opt.Bucket, s.name(id), minio.StatObjectOptions{})
	if err != nil {
		return blob.Info{}, s.fail("stat", id, err)
	}
	return blob.Info{ID: id, Size: o.Size, Stored: o.LastModified}, nil
}

// Delete implements blob.Store. Where the bucket keeps versions they stay; Erase removes them too.
func (s *Store) Delete(ctx context.Context, id blob.ID) error {
	err := s.core.RemoveObject(ctx, s.opt.Bucket, s.name(id), minio.RemoveObjectOptions{})
	if isNone(err) {
		err = nil
	}
	return s.fail("delete", id, err)
}

// Erase deletes content, and where the bucket keeps versions, each of them.
func (s *Store) Erase(ctx context.Context, id blob.ID) error {
	return s.fail("erase", id, s.erase(ctx, s.name(id)))
}

// RemoveAll deletes all content of the store, its versions included.
func (s *Store) RemoveAll(ctx context.Context) error {
	prefix := s.opt.Prefix
	if prefix != "" {
		prefix += "/"
	}
	return s.fail("remove", blob.ID{}, s.erase(ctx, prefix+blob.ID{}.String()[:len("sha256-")]))
}

func (s *Store) erase(ctx context.Context, prefix string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.eraseListed(ctx, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, WithVersions: true}); err == nil || ctx.Err() != nil || !noVersions(err) {
		return err
	}
	// Some servers have no versions to list. Where they may not be listed they would stay.
	return s.eraseListed(ctx, minio.ListObjectsOptions{Prefix: prefix, Recursive: true})
}

func noVersions(err error) bool {
	r := minio.ToErrorResponse(err)
	return r.StatusCode == http.StatusNotImplemented || r.StatusCode == http.StatusMethodNotAllowed || r.Code == "NotImplemented" || r.Code == "InvalidArgument"
}

func (s *Store) eraseListed(ctx context.Context, opt minio.ListObjectsOptions) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for o := range s.core.ListObjectsIter(ctx, s.opt.Bucket, opt) {
		if o.Err != nil {
			return o.Err
		}
		if err := s.core.RemoveObject(ctx, s.opt.Bucket, o.Key, minio.RemoveObjectOptions{VersionID: o.VersionID}); err != nil && !isNone(err) {
			return err
		}
	}
	return ctx.Err()
}

// List implements blob.Store. What has no name of ours is skipped.
func (s *Store) List(ctx context.Context) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		prefix := s.opt.Prefix
		if prefix != "" {
			prefix += "/"
		}
		for o := range s.core.ListObjectsIter(ctx, s.opt.Bucket, minio.ListObjectsOptions{Prefix: prefix}) {
			if o.Err != nil {
				yield(blob.Info{}, s.fail("list", blob.ID{}, o.Err))
				return
			}
			id, err := blob.ParseID(strings.TrimPrefix(o.Key, prefix))
			if err == nil && !yield(blob.Info{ID: id, Size: o.Size, Stored: o.LastModified}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(blob.Info{}, s.fail("list", blob.ID{}, err))
		}
	}
}
