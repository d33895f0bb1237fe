drop domain id;
